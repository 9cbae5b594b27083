#include "train/algorithm/algorithm.h"
#include "train/algorithm/compensated.h"

namespace thalweg {
namespace {

// g <- g + lambda * h * g * (w - w_read), element by element, where h is the mean of the rows' gradients, of
// which g is the sum.
class ConstantCompensation final : public CompensatedGradients {
 public:
  explicit ConstantCompensation(const AlgorithmValues& values)
      : lambda_(static_cast<float>(values["lambda"])) {}

 private:
  void correct(const StaleGradients& stale) override {
    const float scale = lambda_ / stale.examples;
    for (std::size_t i = 0; i < stale.grads.size(); ++i)
      stale.grads[i] += scale * stale.grads[i] * stale.grads[i] * stale.moved[i];
  }

  const float lambda_;
};

constexpr AlgorithmNumber kCompensatedNumbers[] = {{
    .name = "lambda",
    .placeholder = "X",
    .low = 0,
    .high = 1e6,
    .whole = false,
    .fallback = 0.04,
    .summary = "how much of the change is made up for",
}};

}  // namespace

extern constinit const Algorithm kCompensatedAlgorithm = {
    .name = "dcasgd",
    .summary = "as async, and each gradient is corrected for what changed since its rows were read",
    .result = "depends on timing",
    .paper =
        "Zheng et al., Asynchronous stochastic gradient descent with delay compensation, ICML 2017, "
        "equation 10",
    .numbers = kCompensatedNumbers,
    .consistency = [](const AlgorithmValues&) { return Consistency::async(); },
    .make = [](const AlgorithmValues& values, AlgorithmShard) -> std::unique_ptr<ReplicaAlgorithm> {
      return std::make_unique<ConstantCompensation>(values);
    },
};

}  // namespace thalweg
