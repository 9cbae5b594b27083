// A stream of bytes through memory that two processes share: one writes, one reads, neither waits. After
// L. Lamport, "Specifying concurrent program modules", TOPLAS 1983, with each side's view of the other's
// position cached. What the peer stores is copied once and then checked, so a peer that stores garbage is
// found out and not followed; a peer that dies has published whole bytes or nothing.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "net/shm/shm_doorbell.h"
#include "node/fabric.h"

namespace thalweg {

// Gaps that a reader has yet to pass; with the writer's position they fill one cache line.
inline constexpr std::size_t kShmGapsMax = 7;

// All positions count bytes since the stream's start, gaps included.
struct ShmRingPositions {
  alignas(128) std::atomic<std::uint64_t> written{0};  // Stored by the writer alone, as the gaps.
  // In turn: where the stream goes on at the next slot's begin. 0: none yet.
  std::array<std::atomic<std::uint64_t>, kShmGapsMax> gaps{};
  alignas(128) std::atomic<std::uint64_t> consumed{0};  // Stored by the reader alone.
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

// A piece that peek() shows never crosses a multiple of this, so that a reader frees room while it works on
// the next piece.
inline constexpr std::size_t kShmPieceBytes = std::size_t{32} << 10;
// Copies are published, and read bytes freed, in parts of this size, so that both sides copy at the same
// time: 1 MiB messages go at 16 GB/s with it, at 11 with twice as much.
inline constexpr std::size_t kShmCopyBytes = std::size_t{16} << 10;
// In rings of so many bytes a message of up to a slot begins in a slot of its own. A core that reads on
// fetches the page's next lines as well, and a line that two cores hold is dear to write: of 4 KB messages
// both ways, which take 0.66 us side by side in any ring, those with a slot each take 0.26 where they return
// to it once it has left the caches of two cores (AMD EPYC 9004).
inline constexpr std::size_t kShmSlotBytes = std::size_t{8} << 10;
inline constexpr std::size_t kShmSlottedMin = std::size_t{1} << 10;  // Of the message.
inline constexpr std::size_t kShmSlottedRingBytes = std::size_t{4} << 20;
inline constexpr std::size_t kShmRingBytesMin = 4096;
inline constexpr std::size_t kShmRingBytesMax = std::size_t{64} << 20;

class ShmRingWriter {
 public:
  // `data` has `capacity` bytes, a power of two. The peer is woken through `bell`.
  ShmRingWriter(ShmRingPositions& positions, std::byte* data, std::size_t capacity, ShmDoorbell& bell)
      : positions_(&positions), data_(data), capacity_(capacity), bell_(&bell) {}

  // Copies as many bytes as there is room for, and says how many.
  std::size_t write(std::span<const Piece> pieces);
  // Whether write() would take so many.
  bool has_room(std::size_t bytes) {
    return capacity_ - (written_ - consumed_) >= bytes ||
           (look() && capacity_ - (written_ - consumed_) >= bytes);
  }

  // Whether write() would take a message of so many bytes whole, from the place that this finds for it.
  bool begin_message(std::size_t bytes);

  // Whether the last write() found too little room.
  bool came_up_short() const { return short_; }
  // Whether there may be more room since the write() that came up short.
  bool changed() const { return short_ && positions_->consumed.load(std::memory_order_seq_cst) != consumed_; }
  void forget_shortage() { short_ = false; }
  // The peer's position was impossible; nothing is written any more.
  bool damaged() const { return damaged_; }
  std::uint64_t written() const { return written_; }
  std::uint64_t peer_position() const { return consumed_; }

 private:
  bool look();
  void leave_gap(std::size_t bytes);
  void publish(std::size_t bytes);

  ShmRingPositions* positions_;
  std::byte* data_;
  std::size_t capacity_;
  ShmDoorbell* bell_;
  std::uint64_t written_ = 0;
  std::uint64_t consumed_ = 0;  // As last seen.
  std::array<std::uint64_t, kShmGapsMax> gap_ends_{};
  std::size_t gaps_ = 0;  // So far.
  bool short_ = false;
  bool damaged_ = false;
};

class ShmRingReader {
 public:
  ShmRingReader(ShmRingPositions& positions, const std::byte* data, std::size_t capacity, ShmDoorbell& bell)
      : positions_(&positions), data_(data), capacity_(capacity), bell_(&bell) {}

  // As Fabric's.
  Piece peek(std::size_t want);
  void consume(std::size_t bytes);
  std::size_t read(std::byte* into, std::size_t size);

  // Whether the last peek() or read() found too few bytes.
  bool came_up_short() const { return short_; }
  // Whether there may be more bytes since the look that came up short.
  bool changed() const { return short_ && positions_->written.load(std::memory_order_seq_cst) != written_; }
  void forget_shortage() { short_ = false; }
  // Wakes a writer that sleeps for room, of whatever size. To be called before the reader itself sleeps.
  void tell_room();
  // The peer's position was impossible; nothing is read any more.
  bool damaged() const { return damaged_; }
  std::uint64_t consumed() const { return consumed_; }
  std::uint64_t peer_position() const { return written_; }

 private:
  std::size_t ready(std::size_t want);
  bool find_end();

  ShmRingPositions* positions_;
  const std::byte* data_;
  std::size_t capacity_;
  ShmDoorbell* bell_;
  std::uint64_t consumed_ = 0;
  std::uint64_t told_ = 0;     // Of consumed_, to a writer that may sleep.
  std::uint64_t written_ = 0;  // As last seen.
  std::uint64_t end_ = 0;      // The same, or where a gap before it begins.
  std::size_t gaps_ = 0;       // Passed.
  bool short_ = false;
  bool damaged_ = false;
};

}  // namespace thalweg
