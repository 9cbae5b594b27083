// The built-in update rules as types, one element-wise formula each, for inlining into the loops of
// update_kernels.cc. Included once per instruction set. g: gradient, w: row, s0 and s1: state, sgn(0) = 0.
#if defined(THALWEG_TABLE_UPDATE_RULES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef THALWEG_TABLE_UPDATE_RULES_INL_H_
#undef THALWEG_TABLE_UPDATE_RULES_INL_H_
#else
#define THALWEG_TABLE_UPDATE_RULES_INL_H_
#endif

#include <hwy/highway.h>

#include "thalweg/options.h"

HWY_BEFORE_NAMESPACE();
namespace thalweg::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// What a formula reads and writes for one vector of elements. `step_size` and `inverse_root` are Adam's
// factors.
template <class V>
struct Elements {
  V w, s0, s1, g, step_size, inverse_root;
};

// prox of t * |w|: sgn(w) max(|w| - t, 0) (Duchi and Singer, "Efficient Online and Batch Learning Using
// Forward Backward Splitting", JMLR 2009). A NaN stays a NaN.
template <class V>
HWY_INLINE V soft_threshold(V w, V t) {
  return hn::IfThenZeroElse(hn::Le(hn::Abs(w), t), hn::Sub(w, hn::CopySign(t, w)));
}

// w += g.
struct Add {
  static constexpr int kStates = 0;
  static constexpr bool kSteps = false;
  explicit Add(const RuleSpec&) {}
  template <class D, class V>
  HWY_INLINE void step(D, Elements<V>& e) const {
    e.w = hn::Add(e.w, e.g);
  }
};

// w = g.
struct Assign {
  static constexpr int kStates = 0;
  static constexpr bool kSteps = false;
  explicit Assign(const RuleSpec&) {}
  template <class D, class V>
  HWY_INLINE void step(D, Elements<V>& e) const {
    e.w = e.g;
  }
};

// g += l2 w; w -= rate g; then the proximal step of rate * l1 (Robbins and Monro 1951; PyTorch's SGD).
struct Sgd {
  static constexpr int kStates = 0;
  static constexpr bool kSteps = false;
  explicit Sgd(const RuleSpec& r) : rate(r.rate), l1(r.l1), l2(r.l2) {}
  template <class D, class V>
  HWY_INLINE void step(D d, Elements<V>& e) const {
    const V g = hn::Add(e.g, hn::Mul(hn::Set(d, l2), e.w));
    e.w = hn::Sub(e.w, hn::Mul(hn::Set(d, rate), g));
    if (l1 != 0.0f) e.w = soft_threshold(e.w, hn::Set(d, rate * l1));
  }
  float rate, l1, l2;
};

// g += l2 w; s0 = momentum s0 + g; w -= rate s0 (Polyak 1964; PyTorch's SGD with dampening 0).
struct Momentum {
  static constexpr int kStates = 1;
  static constexpr bool kSteps = false;
  explicit Momentum(const RuleSpec& r) : rate(r.rate), l2(r.l2), momentum(r.momentum) {}
  template <class D, class V>
  HWY_INLINE void step(D d, Elements<V>& e) const {
    const V g = hn::Add(e.g, hn::Mul(hn::Set(d, l2), e.w));
    e.s0 = hn::Add(hn::Mul(hn::Set(d, momentum), e.s0), g);
    e.w = hn::Sub(e.w, hn::Mul(hn::Set(d, rate), e.s0));
  }
  float rate, l2, momentum;
};

// g += l2 w; s0 = momentum s0 + g; w -= rate (g + momentum s0) (Sutskever et al., ICML 2013, in PyTorch's
// form).
struct Nesterov {
  static constexpr int kStates = 1;
  static constexpr bool kSteps = false;
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

// g += l2 w; s0 += g^2; r = rate / (sqrt(s0) + epsilon); w -= r g; then the proximal step of r * l1
// (Duchi, Hazan, Singer, "Adaptive Subgradient Methods", JMLR 2011; PyTorch's Adagrad with lr_decay 0).
struct Adagrad {
  static constexpr int kStates = 1;
  static constexpr bool kSteps = false;
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

// g += l2 w; s0 = beta2 s0 + (1 - beta2) g^2; w -= rate g / (sqrt(s0) + epsilon) (Tieleman and Hinton,
// lecture 6.5 of "Neural Networks for Machine Learning", 2012; PyTorch's RMSprop with alpha = beta2).
struct Rmsprop {
  static constexpr int kStates = 1;
  static constexpr bool kSteps = false;
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

// s0 = beta1 s0 + (1 - beta1) g; s1 = beta2 s1 + (1 - beta2) g^2;
// w -= rate / (1 - beta1^t) s0 / (sqrt(s1) / sqrt(1 - beta2^t) + epsilon), t the row's own count of updates.
// Adam: first g += l2 w (Kingma and Ba, ICLR 2015, algorithm 1). AdamW: first w -= rate l2 w (Loshchilov and
// Hutter, ICLR 2019, algorithm 2 with schedule multiplier 1). Both as in PyTorch.
template <bool kDecoupled>
struct AdamRule {
  static constexpr int kStates = 2;
  static constexpr bool kSteps = true;
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

// FTRL-proximal with per-coordinate rates (McMahan et al., "Ad Click Prediction: a View from the Trenches",
// KDD 2013, algorithm 1): n = s1, z = s0; sigma = (sqrt(n + g^2) - sqrt(n)) / alpha; z += g - sigma w; n +=
// g^2; w = 0 where |z| <= l1, else -(z - sgn(z) l1) / ((beta + sqrt(n)) / alpha + l2). alpha = rate, beta =
// epsilon.
struct Ftrl {
  static constexpr int kStates = 2;
  static constexpr bool kSteps = false;
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
