// w += g.
#if defined(THALWEG_TABLE_RULE_ADD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef THALWEG_TABLE_RULE_ADD_INL_H_
#undef THALWEG_TABLE_RULE_ADD_INL_H_
#else
#define THALWEG_TABLE_RULE_ADD_INL_H_
#endif

#include "table/rule/elements-inl.h"

HWY_BEFORE_NAMESPACE();
namespace thalweg::kernels::HWY_NAMESPACE {

struct Add {
  static constexpr RuleFacts kFacts{};
  explicit Add(const RuleSpec&) {}
  template <class D, class V>
  HWY_INLINE void step(D, Elements<V>& e) const {
    e.w = hn::Add(e.w, e.g);
  }
};

}  // namespace thalweg::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
