#include "net/shm/shm_ring.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace thalweg {

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

// How many bytes are there, and whether they are fewer than wanted.
std::size_t ShmRingReader::ready(std::size_t want) {
  if (damaged_) return 0;
  if (written_ - consumed_ < want) {
    const std::uint64_t seen = positions_->written.load(std::memory_order_acquire);
    if (seen - consumed_ > capacity_ || seen - consumed_ < written_ - consumed_) {
      damaged_ = true;
      written_ = seen;
      return 0;
    }
    written_ = seen;
  }
  const auto there = static_cast<std::size_t>(written_ - consumed_);
  short_ = there < want;
  return there;
}

Piece ShmRingReader::peek(std::size_t want) {
  const std::size_t there = ready(want);
  const std::size_t at = static_cast<std::size_t>(consumed_) & (capacity_ - 1);
  return {data_ + at, std::min({there, want, kShmPieceBytes - at % kShmPieceBytes, capacity_ - at})};
}

void ShmRingReader::consume(std::size_t bytes) {
  if (damaged_) return;
  THALWEG_CHECK(bytes <= written_ - consumed_, "only what was shown is dropped");
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
  const std::size_t total = std::min(ready(size), size);
  for (std::size_t done = 0; done < total;) {
    const std::size_t at = static_cast<std::size_t>(consumed_) & (capacity_ - 1);
    const std::size_t part = std::min({total - done, kShmCopyBytes - at % kShmCopyBytes, capacity_ - at});
    std::memcpy(into + done, data_ + at, part);
    done += part;
    consume(part);
  }
  return total;
}

}  // namespace thalweg
