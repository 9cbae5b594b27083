// What the formulas of update rules are written with, for inlining into the loops of update_kernels.cc.
// Included once per instruction set.
#if defined(THALWEG_TABLE_RULE_ELEMENTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef THALWEG_TABLE_RULE_ELEMENTS_INL_H_
#undef THALWEG_TABLE_RULE_ELEMENTS_INL_H_
#else
#define THALWEG_TABLE_RULE_ELEMENTS_INL_H_
#endif

#include <hwy/highway.h>

#include "table/rule/rule_facts.h"
#include "thalweg/options.h"

HWY_BEFORE_NAMESPACE();
namespace thalweg::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// What a formula reads and writes for one vector of elements. g: gradient, w: row, s0 and s1: state.
// `step_size` and `inverse_root` are Adam's factors: rate / (1 - beta1^t) and 1 / sqrt(1 - beta2^t), t the
// row's count of updates.
template <class V>
struct Elements {
  V w, s0, s1, g, step_size, inverse_root;
};

// prox of t * |w|: sgn(w) max(|w| - t, 0), sgn(0) = 0 (Duchi and Singer, "Efficient Online and Batch Learning
// Using Forward Backward Splitting", JMLR 2009). A NaN stays a NaN.
template <class V>
HWY_INLINE V soft_threshold(V w, V t) {
  return hn::IfThenZeroElse(hn::Le(hn::Abs(w), t), hn::Sub(w, hn::CopySign(t, w)));
}

}  // namespace thalweg::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
