// One float for each of many keys, read only: a key lies in the cache line that its high bits name or, where
// that is full, in one of the next, so that nearly every look costs one line.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/mix.h"
#include "model/huge_pages.h"

namespace thalweg {

class WeightLines {
 public:
  explicit WeightLines(std::size_t keys);  // How many are to come.
  // Precondition: keys ascend strictly, from one call to the next too, and there is a weight for each.
  void append(std::span<const PlacedKey> keys, std::span<const float> weights);

  // out[i]: the weight of keys[i], in any order and with repeats; 0 where there is none. Returns how many
  // were found. Precondition: all keys have come.
  std::size_t read(std::span<const PlacedKey> keys, float* out) const;

  struct alignas(64) Line {
    static constexpr std::size_t kKeys = 5;
    std::array<PlacedKey, kKeys> keys{kNoPlace, kNoPlace, kNoPlace, kNoPlace, kNoPlace};
    std::array<float, kKeys> weights{};
    std::uint32_t goes_on = 0;  // Some key that looks here first lies behind this line.
  };

 private:
  void begin_line() { lines_.emplace_back(), used_ = 0; }

  std::size_t homes_;  // Lines that are looked at first; behind them lies what does not fit.
  std::vector<Line, HugePageAllocator<Line>> lines_;
  std::size_t used_ = 0;  // Of the last line's keys.
  std::size_t to_come_;
};

}  // namespace thalweg
