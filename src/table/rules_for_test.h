// Test support: the update rules once more, written serially and element by element from the papers'
// formulas, in float (the table's own order of operations) or in double.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "thalweg/options.h"

namespace thalweg::testing {

template <class F>
struct SerialElement {
  F w{}, a{}, b{};  // Row, first and second state.
};

template <class F>
F serial_sign(F x) {
  return x > 0 ? F(1) : x < 0 ? F(-1) : F(0);
}
template <class F>
F serial_prox(F w, F t) {
  return std::fabs(w) <= t ? F(0) : F(w - serial_sign(w) * t);
}

// One update of one element, t the row's count of updates with this one.
template <class F>
void serial_step(const RuleSpec& r, SerialElement<F>& e, F g, unsigned t) {
  const F rate = static_cast<F>(r.rate), l1 = static_cast<F>(r.l1), l2 = static_cast<F>(r.l2);
  const F mu = static_cast<F>(r.momentum), beta1 = static_cast<F>(r.beta1), beta2 = static_cast<F>(r.beta2);
  const F epsilon = static_cast<F>(r.epsilon);
  const bool decays = r.kind != RuleKind::kAdd && r.kind != RuleKind::kAssign && r.kind != RuleKind::kAdamW &&
                      r.kind != RuleKind::kFtrl;
  if (decays) g = g + l2 * e.w;
  switch (r.kind) {
    case RuleKind::kAdd:
      e.w = e.w + g;
      break;
    case RuleKind::kAssign:
      e.w = g;
      break;
    case RuleKind::kSgd:
      e.w = e.w - rate * g;
      if (l1 != 0) e.w = serial_prox<F>(e.w, rate * l1);
      break;
    case RuleKind::kMomentum:
      e.a = mu * e.a + g;
      e.w = e.w - rate * e.a;
      break;
    case RuleKind::kNesterov:
      e.a = mu * e.a + g;
      e.w = e.w - rate * (g + mu * e.a);
      break;
    case RuleKind::kAdagrad: {
      e.a = e.a + g * g;
      const F divisor = std::sqrt(e.a) + epsilon;
      e.w = e.w - (rate * g) / divisor;
      if (l1 != 0) e.w = serial_prox<F>(e.w, (rate * l1) / divisor);
      break;
    }
    case RuleKind::kRmsprop:
      e.a = beta2 * e.a + (F(1) - beta2) * (g * g);
      e.w = e.w - (rate * g) / (std::sqrt(e.a) + epsilon);
      break;
    case RuleKind::kAdam:
    case RuleKind::kAdamW: {
      if (r.kind == RuleKind::kAdamW) e.w = e.w * (F(1) - rate * l2);
      e.a = beta1 * e.a + (F(1) - beta1) * g;
      e.b = beta2 * e.b + (F(1) - beta2) * (g * g);
      // The factors are powers in double in both precisions; only the table's exact order of squarings is not
      // here.
      const double one = 1.0 - std::pow(static_cast<double>(r.beta1), t);
      const double two = 1.0 - std::pow(static_cast<double>(r.beta2), t);
      const F step_size = static_cast<F>(static_cast<double>(r.rate) / one);
      const F inverse_root = static_cast<F>(1.0 / std::sqrt(two));
      e.w = e.w - (step_size * e.a) / (std::sqrt(e.b) * inverse_root + epsilon);
      break;
    }
    case RuleKind::kFtrl: {
      const F inverse_alpha = F(1) / rate;
      const F n = e.b + g * g;
      const F sigma = (std::sqrt(n) - std::sqrt(e.b)) * inverse_alpha;
      e.a = e.a + (g - sigma * e.w);
      e.b = n;
      const F shrunk = serial_prox<F>(e.a, l1);
      e.w = shrunk == 0 ? F(0) : -(shrunk / ((epsilon + std::sqrt(n)) * inverse_alpha + l2));
      break;
    }
    case RuleKind::kCustom:
      break;
  }
}

struct NamedRule {
  std::string name;
  RuleSpec spec;
};

// Every built-in rule, with and without regularisation.
inline std::vector<NamedRule> all_rules() {
  std::vector<NamedRule> rules;
  const auto add = [&](const char* name, RuleKind kind, float rate, float l1, float l2, float epsilon) {
    RuleSpec spec;
    spec.kind = kind, spec.rate = rate, spec.l1 = l1, spec.l2 = l2, spec.epsilon = epsilon;
    rules.push_back({name, spec});
  };
  add("add", RuleKind::kAdd, 0.1f, 0, 0, 0);
  add("assign", RuleKind::kAssign, 0.1f, 0, 0, 0);
  add("sgd", RuleKind::kSgd, 0.1f, 0, 0, 0);
  add("sgd_l1_l2", RuleKind::kSgd, 0.1f, 0.3f, 0.01f, 0);
  add("momentum", RuleKind::kMomentum, 0.05f, 0, 0.01f, 0);
  add("nesterov", RuleKind::kNesterov, 0.05f, 0, 0.01f, 0);
  add("adagrad", RuleKind::kAdagrad, 0.1f, 0, 0, 1e-8f);
  add("adagrad_l1_l2", RuleKind::kAdagrad, 0.1f, 0.3f, 0.01f, 1e-8f);
  add("rmsprop", RuleKind::kRmsprop, 0.01f, 0, 0.01f, 1e-8f);
  add("adam", RuleKind::kAdam, 0.01f, 0, 0.01f, 1e-8f);
  add("adamw", RuleKind::kAdamW, 0.01f, 0, 0.01f, 1e-8f);
  add("ftrl", RuleKind::kFtrl, 0.1f, 0.5f, 0.1f, 1.0f);
  return rules;
}

}  // namespace thalweg::testing
