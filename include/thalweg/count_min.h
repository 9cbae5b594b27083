// How often each key came up, never too low and seldom much too high, in fixed space: the count-min sketch
// (Cormode and Muthukrishnan, J. Algorithms 55, 2005). Sketches of the same shape and seed merge by adding
// counters: group.all_reduce(sketch.counters()). examples/frequent_keys.cc is a whole program.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace thalweg {

class CountMin {
 public:
  // Of n counts in all, a key's estimate is more than e n / width too high with probability e^-depth at most.
  // Precondition: depth and width are from 1.
  CountMin(std::uint32_t depth, std::uint32_t width, std::uint64_t seed);

  void add(std::uint64_t key, std::uint64_t times = 1) {
    for (std::uint32_t row = 0; row < depth_; ++row) counters_[place(row, key)] += times;
  }
  std::uint64_t estimate(std::uint64_t key) const {
    std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
    for (std::uint32_t row = 0; row < depth_; ++row) least = std::min(least, counters_[place(row, key)]);
    return least;
  }
  std::span<std::uint64_t> counters() { return counters_; }
  std::span<const std::uint64_t> counters() const { return counters_; }

 private:
  std::size_t place(std::uint32_t row, std::uint64_t key) const;

  std::uint32_t depth_;
  std::uint32_t width_;
  std::uint64_t seed_;
  std::vector<std::uint64_t> counters_;
};

}  // namespace thalweg
