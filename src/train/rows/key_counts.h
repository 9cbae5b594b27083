// Which keys come up often enough, in bounded memory: counts that are never too low.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "thalweg/ids.h"

namespace thalweg {

// A count-min sketch (Cormode and Muthukrishnan, J. Algorithms 55, 2005) of cells that stop at 255, so that a
// counting Bloom filter of four hash functions is what it is below that. What has been added and in which
// order or by which parts makes no difference.
class KeyCounts {
 public:
  static constexpr std::uint32_t kMost = 255;  // Counts stop there.
  static constexpr std::uint32_t kDepth = 4;

  // `width`: cells of each of kDepth rows, a power of two. Of n keys in all, a count is more than e n / width
  // too high with probability e^-4 at most.
  explicit KeyCounts(std::uint64_t width);

  void add(std::span<const Key> keys);
  std::uint32_t count(Key key) const;
  void count(std::span<const Key> keys, std::span<std::uint8_t> out) const;  // One each.
  std::uint64_t bytes() const { return cells_.size(); }

 private:
  std::array<std::size_t, kDepth> places(Key key) const;
  template <class Visit>
  void for_places(std::span<const Key> keys, Visit visit) const;

  const std::uint64_t mask_;
  std::vector<std::uint8_t> cells_;
};

}  // namespace thalweg
