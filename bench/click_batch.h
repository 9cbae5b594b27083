// Batches shaped like click logs, for the benchmarks of what happens to a batch.
#pragma once

#include <cmath>
#include <cstdint>

#include "base/random.h"
#include "thalweg/batch.h"

namespace thalweg {

inline constexpr std::uint32_t kFields = 39;

// Log-uniform ranks are close to Zipf with exponent 1; fields have 10 to 10^6 values.
inline Batch click_batch(std::size_t rows, Random& random) {
  Batch batch;
  for (std::size_t r = 0; r < rows; ++r) {
    batch.labels.push_back(random.chance(0.25) ? 1.0f : 0.0f);
    for (std::uint32_t f = 0; f < kFields; ++f) {
      const double size = std::pow(10.0, 1.0 + 5.0 * f / (kFields - 1));
      const auto rank = static_cast<std::uint64_t>(std::exp(random.unit() * std::log(size)));
      batch.keys.push_back((std::uint64_t{f} << 32) + rank);
    }
    batch.row_begin.push_back(static_cast<std::uint32_t>(batch.keys.size()));
  }
  return batch;
}

}  // namespace thalweg
