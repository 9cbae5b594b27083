// Grammar, all integers little-endian:
//   standing := server:u32 servers:u32 replicas:u32 read:u32 write:u32 sloppy:bool complete:bool keys:u64
//               bytes:u64 hints:u64 open:u64 silent:u32 (u32)* counts:u64*10
#include "quorum/standing.h"

#include "quorum/limits.h"

namespace thalweg::quorum {
namespace {

template <class Counts, class Each>
void each_count(Counts& counts, const Each& each) {
  each(counts.puts), each(counts.gets), each(counts.failed), each(counts.refused), each(counts.hints_kept);
  each(counts.hints_delivered), each(counts.repairs), each(counts.synced), each(counts.restored);
  each(counts.redirected);
}

bool get_bool(Reader& in) {
  const auto value = in.get<std::uint8_t>();
  if (value > 1) in.fail();
  return value == 1;
}

}  // namespace

Bytes encode(const Standing& s) {
  Writer out;
  out.put(s.server).put(s.servers).put(s.replicas).put(s.read).put(s.write);
  out.put(static_cast<std::uint8_t>(s.sloppy)).put(static_cast<std::uint8_t>(s.complete));
  out.put(s.keys).put(s.bytes).put(s.hints).put(s.open);
  out.put(static_cast<std::uint32_t>(s.silent.size()));
  for (const std::uint32_t server : s.silent) out.put(server);
  each_count(s.counts, [&](const std::uint64_t& count) { out.put(count); });
  return out.take();
}

std::optional<Standing> decode_standing(const Bytes& bytes) {
  Reader in(bytes);
  Standing s;
  s.server = in.get<std::uint32_t>();
  s.servers = in.get<std::uint32_t>();
  s.replicas = in.get<std::uint32_t>();
  s.read = in.get<std::uint32_t>();
  s.write = in.get<std::uint32_t>();
  s.sloppy = get_bool(in);
  s.complete = get_bool(in);
  s.keys = in.get<std::uint64_t>();
  s.bytes = in.get<std::uint64_t>();
  s.hints = in.get<std::uint64_t>();
  s.open = in.get<std::uint64_t>();
  s.silent.resize(in.get_count(kRingServersMax, 4));
  for (std::uint32_t& server : s.silent) server = in.get<std::uint32_t>();
  each_count(s.counts, [&](std::uint64_t& count) { count = in.get<std::uint64_t>(); });
  if (!in.done()) return std::nullopt;
  return s;
}

}  // namespace thalweg::quorum
