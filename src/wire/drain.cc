// Grammar, as that of messages.cc:
//   drain        := server:u32
//   server_drain := server:u32 left:bool ranges:u32 copied:u32 count:u32 server:u32* took_ns:i64, not
//   negative;
//                   servers ascend
#include "wire/drain.h"

#include <algorithm>
#include <functional>

#include "base/limits.h"
#include "wire/reading.h"

namespace thalweg::wire {

Bytes encode(const Drain& m) {
  Writer out;
  out.put(m.server);
  return out.take();
}

std::optional<Drain> decode_drain(const Bytes& bytes) {
  Reader in(bytes);
  return finish(in, Drain{in.get<std::uint32_t>()});
}

Bytes encode(const ServerDrain& m) {
  Writer out;
  out.put(m.server).put(static_cast<std::uint8_t>(m.left)).put(m.ranges).put(m.copied);
  out.put(static_cast<std::uint32_t>(m.to.size()));
  for (const std::uint32_t server : m.to) out.put(server);
  out.put(static_cast<std::int64_t>(m.took.count()));
  return out.take();
}

std::optional<ServerDrain> decode_server_drain(const Bytes& bytes) {
  Reader in(bytes);
  ServerDrain m;
  m.server = in.get<std::uint32_t>();
  m.left = get_bool(in);
  m.ranges = in.get<std::uint32_t>();
  m.copied = in.get<std::uint32_t>();
  m.to.resize(in.get_count(limits::kNodesMax, sizeof(std::uint32_t)));
  for (std::uint32_t& server : m.to) server = in.get<std::uint32_t>();
  m.took = std::chrono::nanoseconds(in.get<std::int64_t>());
  const bool ascends = std::ranges::adjacent_find(m.to, std::greater_equal{}) == m.to.end();
  if (m.copied > m.ranges || m.took.count() < 0 || !ascends) in.fail();
  return finish(in, std::move(m));
}

}  // namespace thalweg::wire
