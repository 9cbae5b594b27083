// Memory for a table's arrays out of huge pages, which single arrays are too small for: random rows then miss
// the TLB far less often.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace thalweg {

// Best fit; free neighbours are joined. Any thread may call it. Outlives what it gave.
class Arena {
 public:
  static constexpr std::size_t kAlign = 64;
  static constexpr std::size_t kHugePage = std::size_t{2} << 20;
  // Smaller arrays are for the C library: a table of few rows is not to take a huge page.
  static constexpr std::size_t kBytesMin = std::size_t{32} << 10;

  Arena() = default;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // Aligned to kAlign and not initialised. Precondition: `bytes` is a multiple of kAlign, not 0.
  void* allocate(std::size_t bytes);
  // Takes back what allocate(bytes) returned.
  void release(void* at, std::size_t bytes);

  std::size_t pieces_free() const {
    const std::lock_guard lock(mutex_);
    return free_.size();
  }

 private:
  struct Free {
    void operator()(void* memory) const { std::free(memory); }
  };
  using Piece = std::map<std::byte*, std::size_t>::iterator;

  Piece add_chunk(std::size_t bytes);

  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<void, Free>> chunks_;
  std::size_t chunk_bytes_ = 0;
  std::map<std::byte*, std::size_t> free_;  // Start and size of each free piece.
};

}  // namespace thalweg
