// FTRL-proximal with per-coordinate rates (McMahan et al., "Ad Click Prediction: a View from the Trenches",
// KDD 2013, algorithm 1): n = s1, z = s0; sigma = (sqrt(n + g^2) - sqrt(n)) / alpha; z += g - sigma w; n +=
// g^2; w = 0 where |z| <= l1, else -(z - sgn(z) l1) / ((beta + sqrt(n)) / alpha + l2). alpha = rate, beta =
// epsilon.
#if defined(THALWEG_TABLE_RULE_FTRL_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef THALWEG_TABLE_RULE_FTRL_INL_H_
#undef THALWEG_TABLE_RULE_FTRL_INL_H_
#else
#define THALWEG_TABLE_RULE_FTRL_INL_H_
#endif

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>

#include "table/rule/elements-inl.h"

HWY_BEFORE_NAMESPACE();
namespace thalweg::kernels::HWY_NAMESPACE {

struct Ftrl {
  // z such that the closed form gives the row's first value.
  static void fill_state(const RuleSpec& r, std::span<const float> row, std::span<float> state) {
    std::fill(state.begin(), state.end(), 0.0f);
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (row[i] == 0.0f) continue;
      state[i] = -(row[i] * (r.epsilon / r.rate + r.l2) + std::copysign(r.l1, row[i]));
    }
  }
  static constexpr RuleFacts kFacts{.states = 2, .fill_state = &fill_state};
  explicit Ftrl(const RuleSpec& r) : inverse_alpha(1.0f / r.rate), beta(r.epsilon), l1(r.l1), l2(r.l2) {}
  template <class D, class V>
  HWY_INLINE void step(D d, Elements<V>& e) const {
    const V n = hn::Add(e.s1, hn::Mul(e.g, e.g));
    const V root = hn::Sqrt(n);
    const V sigma = hn::Mul(hn::Sub(root, hn::Sqrt(e.s1)), hn::Set(d, inverse_alpha));
    e.s0 = hn::Add(e.s0, hn::Sub(e.g, hn::Mul(sigma, e.w)));
    e.s1 = n;
    const V divisor =
        hn::Add(hn::Mul(hn::Add(hn::Set(d, beta), root), hn::Set(d, inverse_alpha)), hn::Set(d, l2));
    const V shrunk = soft_threshold(e.s0, hn::Set(d, l1));
    e.w = hn::IfThenZeroElse(hn::Eq(shrunk, hn::Zero(d)), hn::Neg(hn::Div(shrunk, divisor)));
  }
  float inverse_alpha, beta, l1, l2;
};

}  // namespace thalweg::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
