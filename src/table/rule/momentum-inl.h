// g += l2 w; s0 = momentum s0 + g; w -= rate s0 (Polyak 1964; PyTorch's SGD with dampening 0).
#if defined(THALWEG_TABLE_RULE_MOMENTUM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef THALWEG_TABLE_RULE_MOMENTUM_INL_H_
#undef THALWEG_TABLE_RULE_MOMENTUM_INL_H_
#else
#define THALWEG_TABLE_RULE_MOMENTUM_INL_H_
#endif

#include "table/rule/elements-inl.h"

HWY_BEFORE_NAMESPACE();
namespace thalweg::kernels::HWY_NAMESPACE {

struct Momentum {
  static constexpr RuleFacts kFacts{.states = 1};
  explicit Momentum(const RuleSpec& r) : rate(r.rate), l2(r.l2), momentum(r.momentum) {}
  template <class D, class V>
  HWY_INLINE void step(D d, Elements<V>& e) const {
    const V g = hn::Add(e.g, hn::Mul(hn::Set(d, l2), e.w));
    e.s0 = hn::Add(hn::Mul(hn::Set(d, momentum), e.s0), g);
    e.w = hn::Sub(e.w, hn::Mul(hn::Set(d, rate), e.s0));
  }
  float rate, l2, momentum;
};

}  // namespace thalweg::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
