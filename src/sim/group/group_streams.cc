#include "sim/group/group_streams.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace thalweg::sim {

std::size_t GroupStreams::write(thalweg::Link to, std::span<const Piece> pieces) {
  if (!lost_[to.peer].ok()) return 0;
  std::size_t& used = used_[{to.peer, to.channel}];
  std::vector<std::byte> bytes;
  for (const Piece& piece : pieces) {
    const std::size_t taken = std::min(piece.size, room_ - used - bytes.size());
    bytes.insert(bytes.end(), piece.data, piece.data + taken);
    if (taken < piece.size) break;
  }
  const std::size_t taken = bytes.size();
  used += taken;
  if (taken > 0) carrier_.carry(rank_, to, std::move(bytes));
  return taken;
}

Piece GroupStreams::peek(thalweg::Link from, std::size_t want) {
  const Incoming& in = in_[{from.peer, from.channel}];
  return {in.bytes.data() + in.begin, std::min(want, in.bytes.size() - in.begin)};
}

void GroupStreams::consume(thalweg::Link from, std::size_t bytes) {
  if (bytes == 0) return;
  Incoming& in = in_[{from.peer, from.channel}];
  in.begin += bytes;
  if (in.begin == in.bytes.size()) {
    in.bytes.clear();
    in.begin = 0;
  }
  in.freed += bytes;
  if (in.freed == bytes) carrier_.made_room(rank_, from);
}

std::size_t GroupStreams::read(thalweg::Link from, std::byte* into, std::size_t size) {
  const Piece ready = peek(from, size);
  if (ready.size > 0) std::memcpy(into, ready.data, ready.size);
  consume(from, ready.size);
  return ready.size;
}

void GroupStreams::arrive(thalweg::Link from, const std::vector<std::byte>& bytes) {
  if (!lost_[from.peer].ok()) return;
  Incoming& in = in_[{from.peer, from.channel}];
  in.bytes.insert(in.bytes.end(), bytes.begin(), bytes.end());
}

void GroupStreams::lose(std::uint32_t peer, Status why) {
  if (!lost_[peer].ok()) return;
  lost_[peer] = std::move(why);
  any_lost_ = true;
}

}  // namespace thalweg::sim
