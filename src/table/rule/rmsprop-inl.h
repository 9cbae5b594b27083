// g += l2 w; s0 = beta2 s0 + (1 - beta2) g^2; w -= rate g / (sqrt(s0) + epsilon) (Tieleman and Hinton,
// lecture 6.5 of "Neural Networks for Machine Learning", 2012; PyTorch's RMSprop with alpha = beta2).
#if defined(THALWEG_TABLE_RULE_RMSPROP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef THALWEG_TABLE_RULE_RMSPROP_INL_H_
#undef THALWEG_TABLE_RULE_RMSPROP_INL_H_
#else
#define THALWEG_TABLE_RULE_RMSPROP_INL_H_
#endif

#include "table/rule/elements-inl.h"

HWY_BEFORE_NAMESPACE();
namespace thalweg::kernels::HWY_NAMESPACE {

struct Rmsprop {
  static constexpr RuleFacts kFacts{.states = 1};
  explicit Rmsprop(const RuleSpec& r)
      : rate(r.rate), l2(r.l2), beta2(r.beta2), rest2(1.0f - r.beta2), epsilon(r.epsilon) {}
  template <class D, class V>
  HWY_INLINE void step(D d, Elements<V>& e) const {
    const V g = hn::Add(e.g, hn::Mul(hn::Set(d, l2), e.w));
    e.s0 = hn::Add(hn::Mul(hn::Set(d, beta2), e.s0), hn::Mul(hn::Set(d, rest2), hn::Mul(g, g)));
    const V divisor = hn::Add(hn::Sqrt(e.s0), hn::Set(d, epsilon));
    e.w = hn::Sub(e.w, hn::IfThenZeroElse(hn::Eq(divisor, hn::Zero(d)),
                                          hn::Div(hn::Mul(hn::Set(d, rate), g), divisor)));
  }
  float rate, l2, beta2, rest2, epsilon;
};

}  // namespace thalweg::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
