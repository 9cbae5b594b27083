#include <utility>
#include <vector>

#include "client/replica/fetch.h"
#include "train/algorithm/algorithm.h"

namespace thalweg {
namespace {

// g <- g + lambda * m * g * (w - w_read), element by element, where m is the mean of the rows' gradients, of
// which g is the sum: what the gradient would be where the servers' rows have come to meanwhile.
class CompensatedGradients final : public ReplicaAlgorithm {
 public:
  explicit CompensatedGradients(const AlgorithmValues& values)
      : lambda_(static_cast<float>(values["lambda"])) {}

  Task<Status> before_pull(ReplicaWork work, TableId table, Keys keys) override {
    co_return co_await fetch(work, table, std::move(keys));
  }

  Task<Status> end_step(ReplicaWork work) override {
    const float scale = lambda_ / static_cast<float>(work.rows > 0 ? work.rows : 1);
    for (std::uint16_t t = 0; t < work.pushes.size(); ++t) {
      const StepPush& push = work.pushes[t];
      if (!push.pushed || push.keys.size() == 0) continue;
      const Answer now = co_await work.shared.pull(TableId{t}, push.keys);
      if (!now.status.ok()) co_return now.status;
      const Rows read = work.replica.read(TableId{t}, push.keys);
      std::vector<float> grads(push.grads.span().begin(), push.grads.span().end());
      for (std::size_t i = 0; i < grads.size(); ++i)
        grads[i] += scale * grads[i] * grads[i] * (now.rows[i] - read[i]);
      work.shared.push(TableId{t}, push.keys, Rows(std::move(grads))).forget();
    }
    co_return (co_await work.shared.advance()).status;
  }

  Task<Status> end_pass(ReplicaWork) override { co_return ok_status(); }

 private:
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
      return std::make_unique<CompensatedGradients>(values);
    },
};

}  // namespace thalweg
