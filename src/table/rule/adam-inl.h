// s0 = beta1 s0 + (1 - beta1) g; s1 = beta2 s1 + (1 - beta2) g^2;
// w -= rate / (1 - beta1^t) s0 / (sqrt(s1) / sqrt(1 - beta2^t) + epsilon), t the row's own count of updates.
// Adam: first g += l2 w (Kingma and Ba, ICLR 2015, algorithm 1). AdamW: first w -= rate l2 w (Loshchilov and
// Hutter, ICLR 2019, algorithm 2 with schedule multiplier 1). Both as in PyTorch.
#if defined(THALWEG_TABLE_RULE_ADAM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef THALWEG_TABLE_RULE_ADAM_INL_H_
#undef THALWEG_TABLE_RULE_ADAM_INL_H_
#else
#define THALWEG_TABLE_RULE_ADAM_INL_H_
#endif

#include "table/rule/elements-inl.h"

HWY_BEFORE_NAMESPACE();
namespace thalweg::kernels::HWY_NAMESPACE {

template <bool kDecoupled>
struct AdamRule {
  static constexpr RuleFacts kFacts{.states = 2, .counts_updates = true};
  explicit AdamRule(const RuleSpec& r)
      : l2(r.l2),
        decay(1.0f - r.rate * r.l2),
        beta1(r.beta1),
        rest1(1.0f - r.beta1),
        beta2(r.beta2),
        rest2(1.0f - r.beta2),
        epsilon(r.epsilon) {}
  template <class D, class V>
  HWY_INLINE void step(D d, Elements<V>& e) const {
    V g = e.g;
    if constexpr (kDecoupled) {
      e.w = hn::Mul(e.w, hn::Set(d, decay));
    } else {
      g = hn::Add(g, hn::Mul(hn::Set(d, l2), e.w));
    }
    e.s0 = hn::Add(hn::Mul(hn::Set(d, beta1), e.s0), hn::Mul(hn::Set(d, rest1), g));
    e.s1 = hn::Add(hn::Mul(hn::Set(d, beta2), e.s1), hn::Mul(hn::Set(d, rest2), hn::Mul(g, g)));
    const V divisor = hn::Add(hn::Mul(hn::Sqrt(e.s1), e.inverse_root), hn::Set(d, epsilon));
    e.w = hn::Sub(
        e.w, hn::IfThenZeroElse(hn::Eq(divisor, hn::Zero(d)), hn::Div(hn::Mul(e.step_size, e.s0), divisor)));
  }
  float l2, decay, beta1, rest1, beta2, rest2, epsilon;
};

using Adam = AdamRule<false>;
using AdamW = AdamRule<true>;

}  // namespace thalweg::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
