// Grammar of a note: 5:u8 kind:u64 sequence:u64 bytes:u8[64], beside the messages of blame.cc.
#include "net/group/call_board.h"

#include <algorithm>
#include <cstring>

namespace thalweg {
namespace {

constexpr std::uint8_t kNote = 5;

}  // namespace

Bytes encode_note(const CallNote& note) {
  Writer out;
  out.put(kNote).put(note.place.kind).put(note.place.sequence);
  for (const std::byte byte : note.saying.bytes) out.put(byte);
  return out.take();
}

std::optional<CallNote> decode_note(std::uint32_t from, std::span<const std::byte> message) {
  Reader in(message);
  if (in.get<std::uint8_t>() != kNote) return std::nullopt;
  CallNote note;
  note.place.kind = in.get<std::uint64_t>();
  note.place.sequence = in.get<std::uint64_t>();
  note.saying.rank = from;
  for (std::byte& byte : note.saying.bytes) byte = in.get<std::byte>();
  if (!in.done()) return std::nullopt;
  return note;
}

void CallBoard::note(const CallNote& note) {
  const std::lock_guard lock(mutex_);
  notes_[next_] = note;
  next_ = (next_ + 1) % kNotes;
}

Status CallBoard::compare(const CallNote& theirs) const {
  const std::lock_guard lock(mutex_);
  const auto same_place = [&theirs](const CallNote& own) { return own.check && own.place == theirs.place; };
  const auto own = std::find_if(notes_.begin(), notes_.end(), same_place);
  return own == notes_.end() ? ok_status() : own->check(own->saying, theirs.saying);
}

}  // namespace thalweg
