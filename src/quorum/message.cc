// Grammar, all integers little-endian; clock and record as in version.h:
//   message := kind:u8 number:u64 key:u64 end:u64 server:u32 index:u32 level:u8 more:bool context:clock
//              value:text records:u32 (key:u64 record)* digests:u32 (u64 u64)*
// A failure's frame has its code in the header and its text in the first segment, as all have; its second
// segment is
//   failed  := kind:u8 padding:u8(0)*7 number:u64
#include "quorum/message.h"

#include <array>

#include "quorum/limits.h"

namespace thalweg::quorum {
namespace {

constexpr std::array<const char*, 18> kKindNames = {
    "get",        "got",   "put",         "put done", "ring",          "read",
    "read reply", "write", "write reply", "handoff",  "handoff reply", "compare",
    "leaf",       "sync",  "scan",        "page",     "standing",      "standing reply"};

Kind get_kind(Reader& in) {
  const auto value = in.get<std::uint8_t>();
  if (value > static_cast<std::uint8_t>(kKindLast)) in.fail();
  return static_cast<Kind>(value);
}

}  // namespace

const char* kind_name(Kind kind) { return kKindNames[static_cast<std::size_t>(kind)]; }

Frame frame_of(const Message& m) {
  Writer out;
  out.put(m.kind).put(m.number).put(m.key).put(m.end).put(m.server).put(m.index).put(m.level);
  out.put(static_cast<std::uint8_t>(m.more));
  put_clock(out, m.context);
  out.put_text(m.value.text());
  out.put(static_cast<std::uint32_t>(m.records.size()));
  for (const KeyedRecord& one : m.records) {
    out.put(one.key);
    put_record(out, one.record);
  }
  out.put(static_cast<std::uint32_t>(m.digests.size()));
  for (const auto& [first, second] : m.digests) out.put(first).put(second);
  Frame frame;
  frame.head.op = Op::kVersioned;
  frame.first = out.take();
  return frame;
}

std::optional<Message> decode_message(const Bytes& bytes) {
  Reader in(bytes);
  Message m;
  m.kind = get_kind(in);
  m.number = in.get<std::uint64_t>();
  m.key = in.get<Key>();
  m.end = in.get<std::uint64_t>();
  m.server = in.get<std::uint32_t>();
  m.index = in.get<std::uint32_t>();
  m.level = in.get<std::uint8_t>();
  const auto more = in.get<std::uint8_t>();
  if (more > 1) in.fail();
  m.more = more != 0;
  m.context = get_clock(in);
  m.value = Bytes::of(in.get_text(kValueBytesMax));
  m.records.resize(in.get_count(kRecordsMax, 12));
  for (KeyedRecord& one : m.records) {
    one.key = in.get<Key>();
    one.record = get_record(in);
  }
  m.digests.resize(in.get_count(kDigestsMax, 16));
  for (auto& [first, second] : m.digests) {
    first = in.get<std::uint64_t>();
    second = in.get<std::uint64_t>();
  }
  if (!in.done()) return std::nullopt;
  return m;
}

Frame failure_of(Kind kind, std::uint64_t number, const Status& status) {
  Frame frame;
  frame.head.op = Op::kVersioned;
  put_status(frame, status);
  frame.second = Bytes::of(std::vector<std::uint64_t>{static_cast<std::uint64_t>(kind), number});
  return frame;
}

std::optional<Failure> decode_failure(const Frame& frame) {
  const Status why = status_of(frame);
  if (why.ok() || frame.second.size() != 16) return std::nullopt;
  const auto words = frame.second.as<std::uint64_t>();
  if (words[0] > static_cast<std::uint64_t>(kKindLast)) return std::nullopt;
  return Failure{static_cast<Kind>(words[0]), words[1], why};
}

}  // namespace thalweg::quorum
