// w = g.
#if defined(THALWEG_TABLE_RULE_ASSIGN_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef THALWEG_TABLE_RULE_ASSIGN_INL_H_
#undef THALWEG_TABLE_RULE_ASSIGN_INL_H_
#else
#define THALWEG_TABLE_RULE_ASSIGN_INL_H_
#endif

#include "table/rule/elements-inl.h"

HWY_BEFORE_NAMESPACE();
namespace thalweg::kernels::HWY_NAMESPACE {

struct Assign {
  static constexpr RuleFacts kFacts{.last_wins = true};
  explicit Assign(const RuleSpec&) {}
  template <class D, class V>
  HWY_INLINE void step(D, Elements<V>& e) const {
    e.w = e.g;
  }
};

}  // namespace thalweg::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
