#include <cmath>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "train/algorithm/algorithm.h"
#include "train/algorithm/compensated.h"

namespace thalweg {
namespace {

// As dcasgd, where lambda is by element and by the gradients that the shard has pushed to it: v <- mean * v +
// (1 - mean) * h * h, which begins as 0, and g <- g + lambda / sqrt(v + 1e-7) * h * g * (w - w_read).
class AdaptiveCompensation final : public CompensatedGradients {
 public:
  explicit AdaptiveCompensation(const AlgorithmValues& values)
      : lambda_(static_cast<float>(values["lambda"])),
        old_(static_cast<float>(values["mean"])),
        fresh_(static_cast<float>(1 - values["mean"])) {}

 private:
  static constexpr float kEpsilon = 1e-7f;  // The paper's.

  // A float for each of the rows of one table that the shard has pushed to.
  class Squares {
   public:
    float* row(const Keys& keys, std::size_t i, std::size_t dim) {
      const std::uint64_t* const values = keys.values()->data();
      const std::uint64_t place =
          keys.dense() ? values[0] + i : places_.try_emplace(values[i], places_.size()).first->second;
      if (means_.size() < (place + 1) * dim) means_.resize((place + 1) * dim, 0.0f);
      return means_.data() + place * dim;
    }

   private:
    std::unordered_map<std::uint64_t, std::uint64_t> places_;  // Sparse tables: by key.
    std::vector<float> means_;
  };

  void correct(const StaleGradients& stale) override {
    if (squares_.size() <= stale.table.value) squares_.resize(stale.table.value + std::size_t{1});
    const std::size_t dim = stale.grads.size() / stale.keys.size();
    for (std::size_t i = 0; i < stale.keys.size(); ++i) {
      float* const squares = squares_[stale.table.value].row(stale.keys, i, dim);
      for (std::size_t d = 0; d < dim; ++d) {
        float& grad = stale.grads[i * dim + d];
        const float mean = grad / stale.examples;
        squares[d] = old_ * squares[d] + fresh_ * mean * mean;
        grad += lambda_ / std::sqrt(squares[d] + kEpsilon) * mean * grad * stale.moved[i * dim + d];
      }
    }
  }

  const float lambda_;
  const float old_, fresh_;
  std::vector<Squares> squares_;  // By table.
};

constexpr AlgorithmNumber kAdaptiveNumbers[] = {
    {.name = "lambda",
     .placeholder = "X",
     .low = 0,
     .high = 1e6,
     .whole = false,
     .fallback = 2,
     .summary = "how much of the change is made up for, over the root of the mean square of gradients"},
    {.name = "mean",
     .placeholder = "M",
     .low = 0,
     .high = 0.999999,
     .whole = false,
     .fallback = 0.95,
     .summary = "part of that mean which is of gradients before the newest; 0 is of the newest alone"},
};

}  // namespace

extern constinit const Algorithm kCompensatedAAlgorithm = {
    .name = "dcasgd-a",
    .summary = "as dcasgd, corrected the more by element the smaller its gradients have been",
    .result = "depends on timing",
    .paper =
        "Zheng et al., Asynchronous stochastic gradient descent with delay compensation, ICML 2017, "
        "algorithm 2 as DC-ASGD-a",
    .numbers = kAdaptiveNumbers,
    .consistency = [](const AlgorithmValues&) { return Consistency::async(); },
    .make = [](const AlgorithmValues& values, AlgorithmShard) -> std::unique_ptr<ReplicaAlgorithm> {
      return std::make_unique<AdaptiveCompensation>(values);
    },
};

}  // namespace thalweg
