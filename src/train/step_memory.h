// What the steps under way in one process hold at once: rows that they pulled, gradients that they push.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

namespace thalweg {

// What the steps under way may take besides tables.
constexpr std::uint64_t memory_for_steps(std::uint64_t limit) { return limit / 3; }

// Thread-safe.
class StepMemory {
  struct Release {
    std::uint64_t bytes;
    void operator()(StepMemory* memory) const { memory->used_ -= bytes; }
  };

 public:
  using Share = std::unique_ptr<StepMemory, Release>;  // Is given back when it is destroyed.

  // Before the first take(). 0: no limit.
  void set_max(std::uint64_t bytes) { max_ = bytes; }
  std::uint64_t max() const { return max_; }
  // Null where that would be more than the limit, together with what others have.
  Share take(std::uint64_t bytes) {
    const std::uint64_t before = used_.fetch_add(bytes);
    Share share(this, Release{bytes});
    const bool fits = max_ == 0 || (before <= max_ && bytes <= max_ - before);
    return fits ? std::move(share) : Share(nullptr, Release{0});
  }
  std::uint64_t used() const { return used_; }

 private:
  std::uint64_t max_ = 0;
  std::atomic<std::uint64_t> used_{0};
};

}  // namespace thalweg
