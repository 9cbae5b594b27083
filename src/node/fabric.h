// The seam of group exchange: streams of bytes between the ranks of a group, driven by networks, shared
// memory and the simulator alike.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/instant.h"

namespace thalweg {

// Bytes to send or as received. Without `data` they are phantom: sizes that a simulation moves.
struct Piece {
  const std::byte* data = nullptr;
  std::size_t size = 0;
};

// One direction of one channel between two ranks: a stream, in order, nothing lost.
struct Link {
  std::uint32_t peer = 0;     // Rank within the group.
  std::uint16_t channel = 0;  // Below limits::kChannelsMax; the same number at both ends.
  constexpr bool operator==(const Link&) const = default;
};

// Where one rank's bytes go. Never blocks and never calls back; used by one thread at a time. A link that has
// failed neither takes nor has bytes: its driver tells the exchange through on_peer_lost().
class Fabric {
 public:
  virtual ~Fabric() = default;
  // Takes as many of the pieces' bytes, from the front, as there is room for, and says how many. The taken
  // ones may change afterwards.
  virtual std::size_t write(Link to, std::span<const Piece> pieces) = 0;
  // Takes all of the pieces, or none and says false, as links do that cannot tell beforehand.
  virtual bool write_whole(Link /*to*/, std::span<const Piece> /*pieces*/) { return false; }
  // Ready bytes in one piece, at most `want`; valid until the link's next call. Fewer than are ready only
  // where storage wraps, and then at a multiple of 64 since the stream's start.
  virtual Piece peek(Link from, std::size_t want) = 0;
  // As peek(). Where too few are ready, it may look again for as long as it takes to be woken.
  virtual Piece peek_soon(Link from, std::size_t want) { return peek(from, want); }
  // Drops bytes that peek() showed.
  virtual void consume(Link from, std::size_t bytes) = 0;
  // Moves up to `size` ready bytes to `into` and says how many.
  virtual std::size_t read(Link from, std::byte* into, std::size_t size) = 0;
  // The rank has added so many received bytes to its own, for fabrics whose ranks' time is simulated.
  virtual void added(std::size_t /*bytes*/) {}

  // Memory that the ranks of one machine share. Offset of [data, data + size) within what this rank shares;
  // kNotShared when it lies elsewhere.
  static constexpr std::uint64_t kNotShared = ~std::uint64_t{0};
  virtual std::uint64_t shared_offset(const void* /*data*/, std::size_t /*size*/) { return kNotShared; }
  // Where this process sees what `peer` shares there; null when it does not.
  virtual std::byte* shared_by(std::uint32_t /*peer*/, std::uint64_t /*offset*/, std::size_t /*size*/) {
    return nullptr;
  }
  // Has what `with.peer` shares for its operation of that number on the channel stay there until let_go(): a
  // rank that gives the operation up does not return before that. False: it has given it up already.
  virtual bool hold(Link /*with*/, std::uint64_t /*sequence*/) { return true; }
  virtual void let_go(Link /*with*/) {}
  // This rank's part of that memory for what its peers are to see of other buffers, while an operation uses
  // `channel`: kStagingTurns areas of kStagingBytes, used in turn, from a multiple of 64 on, the same at each
  // call. Null when there are none.
  static constexpr std::size_t kStagingBytes = std::size_t{256} << 10;
  static constexpr std::size_t kStagingTurns = 4;
  virtual std::byte* staging(std::uint16_t /*channel*/) { return nullptr; }
  // Whether other ranks than these may come to use the channel, so that nobody is to look when an operation
  // ends.
  virtual bool borrows_channels() { return false; }
  // Whether fetch() has been found to work with that peer.
  virtual bool can_fetch(std::uint32_t /*peer*/) { return false; }
  // Copies what `peer` has at an address of its own, of any memory, while it stands still there. False when
  // that cannot be had, since the peer is gone or has moved on; some bytes may be overwritten then.
  virtual bool fetch(std::uint32_t /*peer*/, std::uint64_t /*address*/, std::byte* /*into*/,
                     std::size_t /*size*/) {
    return false;
  }
};

}  // namespace thalweg
