#include "table/update_kernels.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "table/update_kernels.cc"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once per instruction set.
#include <hwy/highway.h>

#include "table/rule/all-inl.h"

HWY_BEFORE_NAMESPACE();
namespace thalweg::kernels::HWY_NAMESPACE {

// Elements handled at once when rows are narrow: a multiple of every vector's lanes.
constexpr std::size_t kChunk = 256;
// Rows narrower than this are gathered into planes, so that vectors run across rows.
constexpr std::size_t kNarrow = 8;

// Adam's factors for a whole row, or one pair an element.
struct SameFactors {
  AdamFactors factors;
  template <class D, class V>
  HWY_INLINE void get(D d, std::size_t, Elements<V>& e) const {
    e.step_size = hn::Set(d, factors.step_size);
    e.inverse_root = hn::Set(d, factors.inverse_root);
  }
};
struct FactorArrays {
  HWY_ALIGN float step_size[kChunk];
  HWY_ALIGN float inverse_root[kChunk];
  template <class D, class V>
  HWY_INLINE void get(D d, std::size_t i, Elements<V>& e) const {
    e.step_size = hn::LoadU(d, step_size + i);
    e.inverse_root = hn::LoadU(d, inverse_root + i);
  }
};

template <class Rule, class D, class Factors>
HWY_INLINE void step_vector(const Rule& rule, D d, const RowPlanes& at, const float* grads, std::size_t i,
                            const Factors& factors) {
  Elements<hn::Vec<D>> e;
  e.w = hn::LoadU(d, at.row + i);
  e.g = hn::LoadU(d, grads + i);
  if constexpr (Rule::kFacts.states > 0) e.s0 = hn::LoadU(d, at.state0 + i);
  if constexpr (Rule::kFacts.states > 1) e.s1 = hn::LoadU(d, at.state1 + i);
  if constexpr (Rule::kFacts.counts_updates) factors.get(d, i, e);
  rule.step(d, e);
  hn::StoreU(e.w, d, at.row + i);
  if constexpr (Rule::kFacts.states > 0) hn::StoreU(e.s0, d, at.state0 + i);
  if constexpr (Rule::kFacts.states > 1) hn::StoreU(e.s1, d, at.state1 + i);
}

// The last `left` < 2 * kLanes elements, by vectors of halving width.
template <std::size_t kLanes, class Rule, class Factors>
HWY_INLINE void step_tail(const Rule& rule, const RowPlanes& at, const float* grads, std::size_t i,
                          std::size_t left, const Factors& factors) {
  const hn::CappedTag<float, kLanes> d;
  for (; left >= hn::Lanes(d); left -= hn::Lanes(d), i += hn::Lanes(d)) {
    step_vector(rule, d, at, grads, i, factors);
  }
  if constexpr (kLanes > 1) {
    if (left > 0) step_tail<kLanes / 2>(rule, at, grads, i, left, factors);
  }
}

template <class Rule, class Factors>
HWY_INLINE void step_elements(const Rule& rule, const RowPlanes& at, const float* grads, std::size_t count,
                              const Factors& factors) {
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) step_vector(rule, d, at, grads, i, factors);
  if (i < count) step_tail<8>(rule, at, grads, i, count - i, factors);
}

HWY_INLINE AdamFactors next_factors(const UpdateParams& params, float* steps) {
  *steps += 1.0f;
  const auto t = static_cast<std::uint32_t>(*steps);
  return t <= params.factors.size() ? params.factors[t - 1] : adam_factors(params.rule, t);
}

template <class Rule>
HWY_INLINE RowPlanes planes_of_row(float* row, std::size_t dim) {
  return {row, Rule::kFacts.states > 0 ? row + dim : nullptr,
          Rule::kFacts.states > 1 ? row + 2 * dim : nullptr,
          Rule::kFacts.counts_updates ? row + 3 * dim : nullptr};
}

template <class Rule>
void planes_by_rule(const UpdateParams& params, const RowPlanes& planes, const float* grads,
                    std::size_t count) {
  const Rule rule(params.rule);
  const std::size_t dim = params.dim;
  if constexpr (!Rule::kFacts.counts_updates) {
    step_elements(rule, planes, grads, count * dim, SameFactors{});
    return;
  }
  FactorArrays arrays;
  for (std::size_t r = 0; r < count;) {
    const std::size_t first = r * dim;
    const RowPlanes at{planes.row + first, planes.state0 + first, planes.state1 + first, planes.steps + r};
    if (dim >= kNarrow) {
      step_elements(rule, at, grads + first, dim, SameFactors{next_factors(params, at.steps)});
      ++r;
      continue;
    }
    const std::size_t rows = std::min(count - r, kChunk / dim);
    for (std::size_t i = 0; i < rows; ++i) {
      const AdamFactors factors = next_factors(params, at.steps + i);
      std::fill_n(arrays.step_size + i * dim, dim, factors.step_size);
      std::fill_n(arrays.inverse_root + i * dim, dim, factors.inverse_root);
    }
    step_elements(rule, at, grads + first, rows * dim, arrays);
    r += rows;
  }
}

// Copies one array of each of `count` rows between the rows and a plane.
template <bool kGather>
HWY_INLINE void move_column(float* const* rows, std::size_t offset, std::size_t width, std::size_t count,
                            float* plane) {
  for (std::size_t r = 0; r < count; ++r) {
    float* column = rows[r] + offset;
    for (std::size_t c = 0; c < width; ++c) {
      if constexpr (kGather) {
        plane[r * width + c] = column[c];
      } else {
        column[c] = plane[r * width + c];
      }
    }
  }
}

template <bool kGather, class Rule>
HWY_INLINE void move_planes(float* const* rows, std::size_t dim, std::size_t count, const RowPlanes& planes) {
  move_column<kGather>(rows, 0, dim, count, planes.row);
  if constexpr (Rule::kFacts.states > 0) move_column<kGather>(rows, dim, dim, count, planes.state0);
  if constexpr (Rule::kFacts.states > 1) move_column<kGather>(rows, 2 * dim, dim, count, planes.state1);
  if constexpr (Rule::kFacts.counts_updates) move_column<kGather>(rows, 3 * dim, 1, count, planes.steps);
}

template <class Rule>
void narrow_rows(const UpdateParams& params, float* const* rows, const float* grads, std::size_t count) {
  HWY_ALIGN float row[kChunk], state0[kChunk], state1[kChunk], steps[kChunk];
  const RowPlanes planes{row, state0, state1, steps};
  const std::size_t dim = params.dim;
  for (std::size_t done = 0; done < count;) {
    const std::size_t chunk = std::min(count - done, kChunk / dim);
    if (dim == 1) {
      move_planes<true, Rule>(rows + done, 1, chunk, planes);
      planes_by_rule<Rule>(params, planes, grads + done, chunk);
      move_planes<false, Rule>(rows + done, 1, chunk, planes);
    } else {
      move_planes<true, Rule>(rows + done, dim, chunk, planes);
      planes_by_rule<Rule>(params, planes, grads + done * dim, chunk);
      move_planes<false, Rule>(rows + done, dim, chunk, planes);
    }
    done += chunk;
  }
}

template <class Rule>
void rows_by_rule(const UpdateParams& params, float* const* rows, const float* grads, std::size_t count) {
  if (params.dim < kNarrow) return narrow_rows<Rule>(params, rows, grads, count);
  const Rule rule(params.rule);
  for (std::size_t r = 0; r < count; ++r, grads += params.dim) {
    const RowPlanes at = planes_of_row<Rule>(rows[r], params.dim);
    SameFactors factors;
    if constexpr (Rule::kFacts.counts_updates) factors.factors = next_factors(params, at.steps);
    step_elements(rule, at, grads, params.dim, factors);
  }
}

// Calls `action.operator()<Rule>()` with the type of `kind`; a custom rule has none.
template <class Action>
HWY_INLINE void with_rule(RuleKind kind, const Action& action) {
  switch (kind) {
#define THALWEG_RULE_CASE(kind, name, type, l1) \
  case RuleKind::kind:                          \
    return action.template operator()<type>();
    THALWEG_RULES(THALWEG_RULE_CASE)
#undef THALWEG_RULE_CASE
    case RuleKind::kCustom:
      return;
  }
}

struct RowsAction {
  const UpdateParams& params;
  float* const* rows;
  const float* grads;
  std::size_t count;
  template <class Rule>
  void operator()() const {
    rows_by_rule<Rule>(params, rows, grads, count);
  }
};
void UpdateRows(const UpdateParams& params, float* const* rows, const float* grads, std::size_t count) {
  with_rule(params.rule.kind, RowsAction{params, rows, grads, count});
}

struct PlanesAction {
  const UpdateParams& params;
  const RowPlanes& planes;
  const float* grads;
  std::size_t count;
  template <class Rule>
  void operator()() const {
    planes_by_rule<Rule>(params, planes, grads, count);
  }
};
void UpdatePlanes(const UpdateParams& params, const RowPlanes& planes, const float* grads,
                  std::size_t count) {
  with_rule(params.rule.kind, PlanesAction{params, planes, grads, count});
}

void AddRows(const float* a, const float* b, float* sums, std::size_t count) {
  const hn::ScalableTag<float> d;
  std::size_t i = 0;
  for (; i + hn::Lanes(d) <= count; i += hn::Lanes(d)) {
    hn::StoreU(hn::Add(hn::LoadU(d, a + i), hn::LoadU(d, b + i)), d, sums + i);
  }
  for (; i < count; ++i) sums[i] = a[i] + b[i];
}

bool AllAscend(const std::uint64_t* keys, std::size_t count) {
  const hn::ScalableTag<std::uint64_t> d;
  auto ascend = hn::Eq(hn::Zero(d), hn::Zero(d));
  std::size_t i = 1;
  for (; i + hn::Lanes(d) <= count; i += hn::Lanes(d))
    ascend = hn::And(ascend, hn::Lt(hn::LoadU(d, keys + i - 1), hn::LoadU(d, keys + i)));
  bool all = hn::AllTrue(d, ascend);
  for (; i < count; ++i) all = all && keys[i - 1] < keys[i];
  return all;
}

void CountBelow(const std::uint64_t* const* at, const std::uint64_t* keys, std::size_t count,
                std::uint8_t* below) {
  const hn::CappedTag<std::uint64_t, kCountedKeys> d;
  for (std::size_t i = 0; i < count; ++i) {
    const auto key = hn::Set(d, keys[i]);
    std::size_t sum = 0;
    for (std::size_t lane = 0; lane < kCountedKeys; lane += hn::Lanes(d))
      sum += hn::CountTrue(d, hn::Lt(hn::LoadU(d, at[i] + lane), key));
    below[i] = static_cast<std::uint8_t>(sum);
  }
}

// Whether all are finite. The bits of |NaN| and of infinity, read as integers, are the largest of all
// floats'.
bool AllFinite(const float* values, std::size_t count) {
  const hn::ScalableTag<std::int32_t> d;
  const auto* bits = reinterpret_cast<const std::int32_t*>(values);
  const auto magnitude = hn::Set(d, 0x7fffffff);
  auto largest = hn::Zero(d);
  std::size_t i = 0;
  for (; i + hn::Lanes(d) <= count; i += hn::Lanes(d)) {
    largest = hn::Max(largest, hn::And(hn::LoadU(d, bits + i), magnitude));
  }
  bool finite = hn::AllTrue(d, hn::Lt(largest, hn::Set(d, 0x7f800000)));
  for (; i < count; ++i) finite = finite && std::isfinite(values[i]);
  return finite;
}

}  // namespace thalweg::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace thalweg {

const RuleFacts& facts_of(RuleKind builtin) {
  const auto& facts = kernels::HWY_NAMESPACE::kRuleFacts;
  THALWEG_CHECK(builtin != RuleKind::kCustom, "a custom rule has its own");
  return facts.at(static_cast<std::size_t>(builtin));
}

namespace {

// By the powers beta1^t and beta2^t.
AdamFactors factors_of(const RuleSpec& rule, double power1, double power2) {
  return {static_cast<float>(static_cast<double>(rule.rate) / (1.0 - power1)),
          static_cast<float>(1.0 / std::sqrt(1.0 - power2))};
}

}  // namespace

AdamFactors adam_factors(const RuleSpec& rule, std::uint32_t t) {
  const auto power = [t](double base) {
    double result = 1.0;
    for (std::uint32_t left = t; left != 0; left >>= 1, base *= base) {
      if (left & 1) result *= base;
    }
    return result;
  };
  return factors_of(rule, power(static_cast<double>(rule.beta1)), power(static_cast<double>(rule.beta2)));
}

std::vector<AdamFactors> first_adam_factors(const RuleSpec& rule, std::uint32_t count) {
  // By repeated squaring the power of t is that of t without its highest bit, times that bit's.
  const auto powers = [count](double square) {
    std::vector<double> out(std::size_t{count} + 1, 1.0);
    for (std::uint32_t bit = 1; bit <= count; bit *= 2, square *= square) {
      for (std::uint32_t t = bit; t <= count && t < 2 * bit; ++t) out[t] = out[t - bit] * square;
    }
    return out;
  };
  const std::vector<double> first = powers(static_cast<double>(rule.beta1));
  const std::vector<double> second = powers(static_cast<double>(rule.beta2));
  std::vector<AdamFactors> factors(count);
  for (std::uint32_t t = 1; t <= count; ++t) factors[t - 1] = factors_of(rule, first[t], second[t]);
  return factors;
}

namespace kernels {

HWY_EXPORT(UpdateRows);
HWY_EXPORT(UpdatePlanes);
HWY_EXPORT(AddRows);
HWY_EXPORT(AllFinite);
HWY_EXPORT(CountBelow);
HWY_EXPORT(AllAscend);

void update_rows(const UpdateParams& params, float* const* rows, const float* grads, std::size_t count) {
  HWY_DYNAMIC_DISPATCH(UpdateRows)(params, rows, grads, count);
}
void update_planes(const UpdateParams& params, const RowPlanes& planes, const float* grads,
                   std::size_t count) {
  HWY_DYNAMIC_DISPATCH(UpdatePlanes)(params, planes, grads, count);
}
void add(const float* a, const float* b, float* sums, std::size_t count) {
  HWY_DYNAMIC_DISPATCH(AddRows)(a, b, sums, count);
}

void count_below(const std::uint64_t* const* at, std::span<const std::uint64_t> keys, std::uint8_t* below) {
  HWY_DYNAMIC_DISPATCH(CountBelow)(at, keys.data(), keys.size(), below);
}

std::size_t find_non_finite(std::span<const float> values) {
  if (HWY_DYNAMIC_DISPATCH(AllFinite)(values.data(), values.size())) return values.size();
  const auto bad = std::find_if(values.begin(), values.end(), [](float v) { return !std::isfinite(v); });
  return static_cast<std::size_t>(bad - values.begin());
}

std::size_t find_unsorted(std::span<const std::uint64_t> keys) {
  if (HWY_DYNAMIC_DISPATCH(AllAscend)(keys.data(), keys.size())) return keys.size();
  std::size_t i = 1;
  while (keys[i - 1] < keys[i]) ++i;
  return i;
}

}  // namespace kernels
}  // namespace thalweg
#endif
