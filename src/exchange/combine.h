// How elements combine: kernels for every type and reduction, and a caller's monoid.
#pragma once

#include <cstddef>
#include <cstdint>

#include "thalweg/reduction.h"

namespace thalweg {

// out[i] = a[i] + b[i] for `count` elements. `out` may be `a` or `b`; pointers need not be aligned.
using CombineFn = void (*)(std::byte* out, const std::byte* a, const std::byte* b, std::size_t count);
// Sums f16 and bf16 in f32, rounded to nearest even once. kMean sums. Null for kReproducibleSum, which is a
// reduction of other elements (reproducible.h).
CombineFn combine_function(DataType type, Reduction reduction);
// out[i] = sources[0][i] + sources[1][i] + ..., in that order, as combine_function() would, in one pass.
using CombineManyFn = void (*)(std::byte* out, const std::byte* const* sources, std::size_t sources_count,
                               std::size_t count);
CombineManyFn combine_many_function(DataType type, Reduction reduction);
// data[i] = data[i] / divisor; integers round towards zero.
void divide(DataType type, std::byte* data, std::size_t count, std::uint64_t divisor);

// The elements of an operation and what adding means.
struct Arithmetic {
  std::size_t element_bytes = 4;
  CombineFn combine = nullptr;            // Null with a monoid.
  CombineManyFn combine_many = nullptr;   // Null with a monoid.
  Monoid monoid{};
  DataType type = DataType::kF32;
  Reduction reduction = Reduction::kSum;

  static Arithmetic of(DataType type, Reduction reduction);
  static Arithmetic of(const Monoid& monoid);
  void apply(std::byte* out, const std::byte* a, const std::byte* b, std::size_t count) const;
};

}  // namespace thalweg
