// g += l2 w; s0 = momentum s0 + g; w -= rate (g + momentum s0) (Sutskever et al., ICML 2013, in PyTorch's
// form).
#if defined(THALWEG_TABLE_RULE_NESTEROV_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef THALWEG_TABLE_RULE_NESTEROV_INL_H_
#undef THALWEG_TABLE_RULE_NESTEROV_INL_H_
#else
#define THALWEG_TABLE_RULE_NESTEROV_INL_H_
#endif

#include "table/rule/elements-inl.h"

HWY_BEFORE_NAMESPACE();
namespace thalweg::kernels::HWY_NAMESPACE {

struct Nesterov {
  static constexpr RuleFacts kFacts{.states = 1};
  explicit Nesterov(const RuleSpec& r) : rate(r.rate), l2(r.l2), momentum(r.momentum) {}
  template <class D, class V>
  HWY_INLINE void step(D d, Elements<V>& e) const {
    const V mu = hn::Set(d, momentum);
    const V g = hn::Add(e.g, hn::Mul(hn::Set(d, l2), e.w));
    e.s0 = hn::Add(hn::Mul(mu, e.s0), g);
    e.w = hn::Sub(e.w, hn::Mul(hn::Set(d, rate), hn::Add(g, hn::Mul(mu, e.s0))));
  }
  float rate, l2, momentum;
};

}  // namespace thalweg::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
