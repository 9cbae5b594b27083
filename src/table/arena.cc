#include "table/arena.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>

#include "base/check.h"

namespace thalweg {

void* Arena::allocate(std::size_t bytes) {
  join_returned();
  auto piece = free_.end();
  for (auto free = free_.begin(); free != free_.end(); ++free) {
    if (free->second >= bytes && (piece == free_.end() || free->second < piece->second)) piece = free;
  }
  if (piece == free_.end()) piece = add_chunk(bytes);
  const auto [start, size] = *piece;
  free_.erase(piece);
  if (size > bytes) free_.emplace(start + bytes, size - bytes);
  return start;
}

// Rows that have gone to another table give their memory back while this one's thread takes some.
void Arena::release(void* at, std::size_t bytes) {
  static_assert(sizeof(Returned) <= kAlign);
  auto* const piece = new (at) Returned{bytes, returned_.load()};
  while (!returned_.compare_exchange_weak(piece->next, piece)) {
  }
}

void Arena::join_returned() {
  for (Returned* piece = returned_.exchange(nullptr); piece != nullptr;) {
    const Returned it = *piece;
    add_free(static_cast<std::byte*>(static_cast<void*>(piece)), it.bytes);
    piece = it.next;
  }
}

void Arena::add_free(std::byte* at, std::size_t bytes) {
  auto piece = free_.emplace(at, bytes).first;
  if (const auto next = std::next(piece);
      next != free_.end() && piece->first + piece->second == next->first) {
    piece->second += next->second;
    free_.erase(next);
  }
  if (piece == free_.begin()) return;
  const auto before = std::prev(piece);
  if (before->first + before->second != piece->first) return;
  before->second += piece->second;
  free_.erase(piece);
}

// Pages of a chunk that nothing was written to take no memory yet, so chunks may be generous.
Arena::Piece Arena::add_chunk(std::size_t bytes) {
  const std::size_t wanted = std::max({bytes, chunk_bytes_ / 8, kHugePage});
  const std::size_t size = (wanted + kHugePage - 1) / kHugePage * kHugePage;
  void* memory = nullptr;
  THALWEG_CHECK(posix_memalign(&memory, kHugePage, size) == 0, "out of memory for a table");
  static_cast<void>(madvise(memory, size, MADV_HUGEPAGE));
  chunks_.emplace_back(memory);
  chunk_bytes_ += size;
  return free_.emplace(static_cast<std::byte*>(memory), size).first;
}

}  // namespace thalweg
