// How elements combine: kernels for every type and reduction, and a caller's monoid.
#pragma once

#include <cstddef>
#include <cstdint>

#include "thalweg/reduction.h"

namespace thalweg {

// out[i] = a[i] + b[i] for `count` elements. `out` may be `a` or `b`, but must not overlap them otherwise;
// pointers need not be aligned.
using CombineFn = void (*)(std::byte* out, const std::byte* a, const std::byte* b, std::size_t count);
// Sums f16 and bf16 in f32, rounded to nearest even once. kMean sums. Integers wrap. Minimum and maximum are
// NaN where an operand is, and hold -0 below +0. Null for kReproducibleSum, which is a reduction of other
// elements (reproducible.h).
CombineFn combine_function(DataType type, Reduction reduction);

// out[i] = sources[0][i] + sources[1][i] + ..., in that order, in one pass, for one source or more. The bits
// are those of combine_function() source by source, but f16 and bf16 are rounded only at the end.
using CombineManyFn = void (*)(std::byte* out, const std::byte* const* sources, std::size_t sources_count,
                               std::size_t count);
// Whether the result goes through the caches. Past them, `out` must overlap no source.
enum class Stores : std::uint8_t { kCached, kPastCaches };
CombineManyFn combine_many_function(DataType type, Reduction reduction, Stores stores = Stores::kCached);

// data[i] = data[i] / divisor; integers round towards zero. Precondition: divisor > 0.
void divide(DataType type, std::byte* data, std::size_t count, std::uint64_t divisor);

// The elements of an operation and what adding means.
struct Arithmetic {
  std::size_t element_bytes = 4;
  CombineFn combine = nullptr;           // Null with a monoid.
  CombineManyFn combine_many = nullptr;  // Null with a monoid.
  Monoid monoid{};
  DataType type = DataType::kF32;
  Reduction reduction = Reduction::kSum;

  static const Arithmetic& of(DataType type, Reduction reduction);
  static Arithmetic of(const Monoid& monoid);
  // Whether contributions must combine in the order of ranks.
  bool is_ordered() const { return monoid.combine != nullptr && !monoid.commutative; }
  // out = a + b, `a` being of lower ranks than `b`.
  void apply(std::byte* out, const std::byte* a, const std::byte* b, std::size_t count) const;
  // Makes the combination of so many contributions the result: divides a mean, and makes 0 or 1 of a single
  // contribution's truth.
  void finish(std::byte* data, std::size_t count, std::uint32_t contributions) const;
};

}  // namespace thalweg
