// g += l2 w; w -= rate g; then the proximal step of rate * l1 (Robbins and Monro 1951; PyTorch's SGD).
#if defined(THALWEG_TABLE_RULE_SGD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef THALWEG_TABLE_RULE_SGD_INL_H_
#undef THALWEG_TABLE_RULE_SGD_INL_H_
#else
#define THALWEG_TABLE_RULE_SGD_INL_H_
#endif

#include "table/rule/elements-inl.h"

HWY_BEFORE_NAMESPACE();
namespace thalweg::kernels::HWY_NAMESPACE {

struct Sgd {
  static constexpr RuleFacts kFacts{};
  explicit Sgd(const RuleSpec& r) : rate(r.rate), l1(r.l1), l2(r.l2) {}
  template <class D, class V>
  HWY_INLINE void step(D d, Elements<V>& e) const {
    const V g = hn::Add(e.g, hn::Mul(hn::Set(d, l2), e.w));
    e.w = hn::Sub(e.w, hn::Mul(hn::Set(d, rate), g));
    if (l1 != 0.0f) e.w = soft_threshold(e.w, hn::Set(d, rate * l1));
  }
  float rate, l1, l2;
};

}  // namespace thalweg::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
