// Memory for a table's arrays out of huge pages, which single arrays are too small for: random rows then miss
// the TLB far less often.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <map>
#include <memory>
#include <vector>

namespace thalweg {

// Best fit; free neighbours are joined. Of one thread, but for release(). Outlives what it gave.
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
  // Takes back what allocate(bytes) returned, on any thread.
  void release(void* at, std::size_t bytes);

  std::size_t pieces_free() {
    join_returned();
    return free_.size();
  }

 private:
  struct Free {
    void operator()(void* memory) const { std::free(memory); }
  };
  // At the beginning of a piece that has come back.
  struct Returned {
    std::size_t bytes = 0;
    Returned* next = nullptr;
  };
  using Piece = std::map<std::byte*, std::size_t>::iterator;

  Piece add_chunk(std::size_t bytes);
  void join_returned();
  void add_free(std::byte* at, std::size_t bytes);

  std::vector<std::unique_ptr<void, Free>> chunks_;
  std::size_t chunk_bytes_ = 0;
  std::map<std::byte*, std::size_t> free_;     // Start and size of each free piece,
  std::atomic<Returned*> returned_ = nullptr;  // but for these.
};

}  // namespace thalweg
