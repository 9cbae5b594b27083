// Batches shaped like click logs, for the benchmarks of what happens to a batch.
#pragma once

#include <cmath>
#include <cstdint>

#include "base/random.h"
#include "thalweg/batch.h"

namespace thalweg {

inline constexpr std::uint32_t kFields = 39;

// Shaped like Criteo's rows: 13 bucketed integers and 26 categories with 3 to 10^6 values. Log-uniform ranks
// are close to Zipf with exponent 1.
inline Batch click_batch(std::size_t rows, Random& random) {
  Batch batch;
  for (std::size_t r = 0; r < rows; ++r) {
    batch.labels.push_back(random.chance(0.25) ? 1.0f : 0.0f);
    for (std::uint32_t f = 0; f < kFields; ++f) {
      const double size = f < 13 ? 40.0 : std::pow(10.0, 0.5 + 5.5 * (f - 13) / 25);
      const auto rank = static_cast<std::uint64_t>(std::exp(random.unit() * std::log(size)));
      batch.keys.push_back((std::uint64_t{f} << 32) + rank);
    }
    batch.row_begin.push_back(static_cast<std::uint32_t>(batch.keys.size()));
  }
  return batch;
}

}  // namespace thalweg
