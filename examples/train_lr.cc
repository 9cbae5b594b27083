// Trains logistic regression by push and pull, on rows that it makes itself. Prints the falling loss.
#include <cmath>
#include <cstdio>
#include <random>

#include "thalweg/job.h"

using namespace thalweg;

constexpr TableId kWeights{0};
constexpr std::uint32_t kShards = 4, kSteps = 50, kRows = 256, kFeatures = 5;

// One data shard: in each step pull the weights of a batch's features, push the gradient of its loss.
Task<Status> train(Store& store, std::vector<double>& loss_of_step) {
  std::mt19937 random(store.shard().value);
  std::vector<Key> features(kRows * kFeatures);
  std::vector<std::uint32_t> at;  // Each feature's position among the batch's distinct keys.
  for (std::uint32_t step = 0; step < kSteps; ++step) {
    for (Key& feature : features) feature = random() % 1000;
    const Keys keys = Keys::of(features, &at);
    const Answer weights = co_await store.pull(kWeights, keys);
    if (!weights.status.ok()) co_return weights.status;
    std::vector<float> gradient(keys.size());
    for (std::uint32_t row = 0; row < kRows; ++row) {
      double score = 0, truth = 0;
      for (std::uint32_t i = row * kFeatures; i < (row + 1) * kFeatures; ++i) {
        score += weights.rows[at[i]];
        truth += features[i] % 2 == 0 ? 1 : -1;  // Even features speak for a click, odd ones against it.
      }
      const double label = truth > 0 ? 1 : 0, p = 1 / (1 + std::exp(-score));
      loss_of_step[step] -= std::log(label > 0 ? p : 1 - p) / kRows;
      for (std::uint32_t i = row * kFeatures; i < (row + 1) * kFeatures; ++i)
        gradient[at[i]] += static_cast<float>(p - label);
    }
    store.push(kWeights, keys, Rows(std::move(gradient))).forget();
    if (const Answer ended = co_await store.advance(); !ended.status.ok()) co_return ended.status;
  }
  co_return ok_status();
}

int main() {
  JobOptions options;
  options.workers = 2;
  options.data_shards = kShards;
  options.tables.resize(1);
  options.tables[0].name = "weights";
  options.tables[0].rule.kind = RuleKind::kAdagrad;
  auto job = Job::start(options);
  if (!job) return std::fprintf(stderr, "%s\n", job.status().message().c_str()), 1;
  std::vector<std::vector<double>> loss(kShards, std::vector<double>(kSteps));
  const Status status = job->run([&](Store& store) { return train(store, loss[store.shard().value]); });
  if (!status.ok()) return std::fprintf(stderr, "%s\n", status.message().c_str()), 1;
  const auto mean_loss = [&](std::uint32_t step) {
    double sum = 0;
    for (const auto& of_shard : loss) sum += of_shard[step] / kShards;
    return sum;
  };
  for (std::uint32_t step = 0; step < kSteps; step += 7)
    std::printf("step %2u: loss %.4f\n", step, mean_loss(step));
  return mean_loss(kSteps - 1) < mean_loss(0) / 2 ? 0 : 1;
}
