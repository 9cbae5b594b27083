// Lion (Chen et al. 2023, "Symbolic Discovery of Optimization Algorithms", NeurIPS, algorithm 2), of its own
// rate: w -= rate sign(beta1 m + (1 - beta1) g); m = beta2 m + (1 - beta2) g.
#include <cstddef>
#include <memory>

#include "thalweg/rule.h"

namespace {

class Lion final : public thalweg::CustomRule {
 public:
  std::size_t state_floats(std::size_t dim) const override { return dim; }

  void update(std::span<float> row, std::span<float> state, std::span<const float> grad) const override {
    for (std::size_t i = 0; i < row.size(); ++i) {
      const float ahead = kBeta1 * state[i] + (1 - kBeta1) * grad[i];
      if (ahead > 0) row[i] -= kRate;
      if (ahead < 0) row[i] += kRate;
      state[i] = kBeta2 * state[i] + (1 - kBeta2) * grad[i];
    }
  }

 private:
  static constexpr float kRate = 0.01f, kBeta1 = 0.9f, kBeta2 = 0.99f;
};

}  // namespace

std::shared_ptr<const thalweg::CustomRule> lion() { return std::make_shared<Lion>(); }
