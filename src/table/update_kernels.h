// The vector loops over rows. Compiled once per instruction set and chosen at run time; every instruction set
// gives the same bits, because the kernels use only single correctly rounded operations, element by element.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "table/rule/rule_facts.h"
#include "thalweg/options.h"

namespace thalweg {

// Precondition: not the custom one.
const RuleFacts& facts_of(RuleKind builtin);

// Adam's bias corrections at one step: rate / (1 - beta1^t) and 1 / sqrt(1 - beta2^t).
struct AdamFactors {
  float step_size = 0.0f;
  float inverse_root = 0.0f;
};

// A built-in rule's numbers, with Adam's factors for the first steps computed beforehand.
struct UpdateParams {
  RuleSpec rule;
  std::size_t dim = 1;
  std::span<const AdamFactors> factors;  // Index t - 1.
};

// Adam's factors at step t >= 1 from powers by repeated squaring in double: the same bits on every machine.
AdamFactors adam_factors(const RuleSpec& rule, std::uint32_t t);
// Those of the steps 1 to `count`, with the same bits.
std::vector<AdamFactors> first_adam_factors(const RuleSpec& rule, std::uint32_t count);

// Contiguous storage of a block of rows: `row` and each state array hold count * dim floats, `steps` one a
// row. Arrays that the rule lacks are null.
struct RowPlanes {
  float* row = nullptr;
  float* state0 = nullptr;
  float* state1 = nullptr;
  float* steps = nullptr;
};

namespace kernels {

// Applies a built-in rule once to each stored row (dim floats, then the state); grads holds count * dim
// floats.
void update_rows(const UpdateParams& params, float* const* rows, const float* grads, std::size_t count);
// The same to rows kept as planes.
void update_planes(const UpdateParams& params, const RowPlanes& planes, const float* grads,
                   std::size_t count);
// sums[i] = a[i] + b[i]; `sums` may be `a`.
void add(const float* a, const float* b, float* sums, std::size_t count);
// Index of the first NaN or infinity, or values.size().
std::size_t find_non_finite(std::span<const float> values);
// below[i]: how many of the kCountedKeys keys from at[i] on are less than keys[i].
inline constexpr std::size_t kCountedKeys = 8;
void count_below(const std::uint64_t* const* at, std::span<const std::uint64_t> keys, std::uint8_t* below);
// Index of the first key that is not above its predecessor, or keys.size().
std::size_t find_unsorted(std::span<const std::uint64_t> keys);

}  // namespace kernels
}  // namespace thalweg
