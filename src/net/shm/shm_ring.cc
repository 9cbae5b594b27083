#include "net/shm/shm_ring.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace thalweg {
namespace {

std::uint64_t slot_after(std::uint64_t position) { return (position | (kShmSlotBytes - 1)) + 1; }

}  // namespace

// Whether the peer's position makes sense.
bool ShmRingWriter::look() {
  const std::uint64_t seen = positions_->consumed.load(std::memory_order_acquire);
  if (seen - consumed_ > written_ - consumed_) damaged_ = true;
  consumed_ = seen;
  return !damaged_;
}

void ShmRingWriter::publish(std::size_t bytes) {
  written_ += bytes;
  positions_->written.store(written_, std::memory_order_seq_cst);
  bell_->ring(kWantsBytes);
}

bool ShmRingWriter::begin_message(std::size_t bytes) {
  const bool slotted = capacity_ >= kShmSlottedRingBytes && bytes >= kShmSlottedMin && bytes <= kShmSlotBytes;
  if (slotted && written_ % kShmSlotBytes != 0) leave_gap(bytes);
  return has_room(bytes);
}

// If there is room behind it. The reader sees it with what is written next.
void ShmRingWriter::leave_gap(std::size_t bytes) {
  const std::uint64_t begin = slot_after(written_);
  std::uint64_t& end = gap_ends_[gaps_ % kShmGapsMax];
  const auto possible = [&] { return end <= consumed_ && begin + bytes - consumed_ <= capacity_; };
  if (!possible() && !(look() && possible())) return;
  positions_->gaps[gaps_++ % kShmGapsMax].store(written_, std::memory_order_relaxed);
  written_ = end = begin;
}

std::size_t ShmRingWriter::write(std::span<const Piece> pieces) {
  if (damaged_) return 0;
  std::size_t wanted = 0;
  for (const Piece& piece : pieces) wanted += piece.size;
  if (capacity_ - (written_ - consumed_) < wanted && !look()) return 0;
  const std::size_t total = std::min(wanted, static_cast<std::size_t>(capacity_ - (written_ - consumed_)));
  short_ = total < wanted;
  std::size_t left = total, unpublished = 0;
  for (const Piece& piece : pieces) {
    for (std::size_t done = 0; done < piece.size && left > 0;) {
      const std::size_t at = static_cast<std::size_t>(written_ + unpublished) & (capacity_ - 1);
      const std::size_t until_published = kShmCopyBytes - at % kShmCopyBytes;
      const std::size_t size = std::min({piece.size - done, left, until_published, capacity_ - at});
      std::memcpy(data_ + at, piece.data + done, size);
      done += size;
      left -= size;
      unpublished += size;
      if (size == until_published) {
        publish(unpublished);
        unpublished = 0;
      }
    }
  }
  if (unpublished > 0) publish(unpublished);
  return total;
}

// Passes gaps that begin here, and finds how far the bytes go that follow. False when that cannot be.
bool ShmRingReader::find_end() {
  for (;;) {
    const std::uint64_t gap = positions_->gaps[gaps_ % kShmGapsMax].load(std::memory_order_relaxed);
    const bool ahead = gap != 0 && gap - consumed_ < written_ - consumed_;
    end_ = ahead ? gap : written_;
    if (!ahead || end_ != consumed_) return true;
    const std::uint64_t begin = slot_after(gap);
    if (begin - consumed_ > written_ - consumed_) return false;
    consumed_ = begin;
    ++gaps_;
  }
}

// How many bytes are there, and whether they are fewer than wanted.
std::size_t ShmRingReader::ready(std::size_t want) {
  if (damaged_) return 0;
  if (end_ - consumed_ < want) {
    const std::uint64_t seen = positions_->written.load(std::memory_order_acquire);
    if (seen - consumed_ > capacity_ || seen - consumed_ < written_ - consumed_) {
      damaged_ = true;
      written_ = seen;
      return 0;
    }
    written_ = seen;
    if (!find_end()) {
      damaged_ = true;
      return 0;
    }
  }
  const auto there = static_cast<std::size_t>(end_ - consumed_);
  short_ = there < want && end_ == written_;
  return there;
}

Piece ShmRingReader::peek(std::size_t want) {
  const std::size_t there = ready(want);
  const std::size_t at = static_cast<std::size_t>(consumed_) & (capacity_ - 1);
  return {data_ + at, std::min({there, want, kShmPieceBytes - at % kShmPieceBytes, capacity_ - at})};
}

void ShmRingReader::consume(std::size_t bytes) {
  if (damaged_) return;
  THALWEG_CHECK(bytes <= end_ - consumed_, "only what was shown is dropped");
  consumed_ += bytes;
  positions_->consumed.store(consumed_, std::memory_order_release);
  // A sleeping writer is woken for a good deal of room, not for each little bit of it.
  if (consumed_ - told_ >= capacity_ / 2) tell_room();
}

void ShmRingReader::tell_room() {
  if (told_ == consumed_) return;
  told_ = consumed_;
  positions_->consumed.store(consumed_, std::memory_order_seq_cst);
  bell_->ring(kWantsRoom);
}

std::size_t ShmRingReader::read(std::byte* into, std::size_t size) {
  std::size_t done = 0;
  for (std::size_t total = std::min(ready(size), size); done < total;) {
    const std::size_t at = static_cast<std::size_t>(consumed_) & (capacity_ - 1);
    const std::size_t part = std::min({total - done, kShmCopyBytes - at % kShmCopyBytes, capacity_ - at});
    std::memcpy(into + done, data_ + at, part);
    done += part;
    consume(part);
    if (done == total) total += std::min(ready(size - done), size - done);  // What is behind a gap.
  }
  return done;
}

}  // namespace thalweg
