// g += l2 w; s0 += g^2; r = rate / (sqrt(s0) + epsilon); w -= r g; then the proximal step of r * l1
// (Duchi, Hazan, Singer, "Adaptive Subgradient Methods", JMLR 2011; PyTorch's Adagrad with lr_decay 0).
#if defined(THALWEG_TABLE_RULE_ADAGRAD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef THALWEG_TABLE_RULE_ADAGRAD_INL_H_
#undef THALWEG_TABLE_RULE_ADAGRAD_INL_H_
#else
#define THALWEG_TABLE_RULE_ADAGRAD_INL_H_
#endif

#include <algorithm>
#include <span>

#include "table/rule/elements-inl.h"

HWY_BEFORE_NAMESPACE();
namespace thalweg::kernels::HWY_NAMESPACE {

struct Adagrad {
  static void fill_state(const RuleSpec& r, std::span<const float>, std::span<float> state) {
    std::fill(state.begin(), state.end(), r.initial_accumulator);
  }
  static constexpr RuleFacts kFacts{.states = 1, .fill_state = &fill_state};
  explicit Adagrad(const RuleSpec& r) : rate(r.rate), l1(r.l1), l2(r.l2), epsilon(r.epsilon) {}
  template <class D, class V>
  HWY_INLINE void step(D d, Elements<V>& e) const {
    const V g = hn::Add(e.g, hn::Mul(hn::Set(d, l2), e.w));
    e.s0 = hn::Add(e.s0, hn::Mul(g, g));
    const V divisor = hn::Add(hn::Sqrt(e.s0), hn::Set(d, epsilon));
    // A coordinate that has only seen zeros moves by 0, not by 0/0, when epsilon is 0.
    const auto still = hn::Eq(divisor, hn::Zero(d));
    e.w = hn::Sub(e.w, hn::IfThenZeroElse(still, hn::Div(hn::Mul(hn::Set(d, rate), g), divisor)));
    if (l1 != 0.0f) {
      e.w = soft_threshold(e.w, hn::IfThenZeroElse(still, hn::Div(hn::Set(d, rate * l1), divisor)));
    }
  }
  float rate, l1, l2, epsilon;
};

}  // namespace thalweg::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
