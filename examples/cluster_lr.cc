// Logistic regression by one program that is started as scheduler, servers and workers, on one machine or
// on several:
//   cluster_lr scheduler|server|worker [ADDRESS of the scheduler]
// Without arguments the same job runs in this process, with the same result to the last bit.
#include <cmath>
#include <cstdio>
#include <random>
#include <string>

#include "thalweg/node.h"

using namespace thalweg;

constexpr TableId kWeights{0};
constexpr std::uint32_t kSteps = 50, kRows = 256, kFeatures = 5;

// One data shard. A worker may be lost: so a step's rows depend on the shard and the step alone, and the work
// begins at store.step(), which is not the first one where another worker has begun.
Task<Status> train(Store& store) {
  std::vector<Key> features(kRows * kFeatures);
  std::vector<std::uint32_t> at;  // Each feature's position among the step's distinct keys.
  while (store.step().index < kSteps) {
    std::mt19937 random(store.shard().value * kSteps + store.step().index);
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
      const double error = 1 / (1 + std::exp(-score)) - (truth > 0 ? 1 : 0);
      for (std::uint32_t i = row * kFeatures; i < (row + 1) * kFeatures; ++i)
        gradient[at[i]] += static_cast<float>(error);
    }
    store.push(kWeights, keys, Rows(std::move(gradient))).forget();
    if (const Answer ended = co_await store.advance(); !ended.status.ok()) co_return ended.status;
  }
  co_return ok_status();
}

// The job as its starter sees it: here, or with servers and workers elsewhere.
Status run_job(Result<Job> job, Program program) {
  if (!job) return job.status();
  if (const Status status = job->run(std::move(program)); !status.ok()) return status;
  double sum[2] = {};
  const Status seen =
      job->scan(kWeights, [&](Key key, std::span<const float> row) { sum[key % 2] += row[0]; });
  std::printf("weights of even features %.9g, of odd ones %.9g\n", sum[0] / 500, sum[1] / 500);
  if (seen.ok() && !(sum[0] > 0 && sum[1] < 0)) return {Code::kData, "nothing was learnt"};
  return seen;
}

int main(int argc, char** argv) {
  const std::string role = argc > 1 ? argv[1] : "";
  JobOptions options;
  options.servers = 2;
  options.workers = 3;
  options.data_shards = 6;
  options.tables.resize(1);
  options.tables[0].name = "weights";
  options.tables[0].rule.kind = RuleKind::kAdagrad;
  NodeOptions node;
  if (argc > 2) node.scheduler = argv[2];
  node.log = [](const std::string& line) { std::fprintf(stderr, "%s\n", line.c_str()); };

  const Status status = role == "scheduler" ? run_job(Job::listen(options, node), nullptr)
                        : role == "server"  ? run_server(node)
                        : role == "worker"  ? run_worker(node, train)
                                            : run_job(Job::start(options), train);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.message().c_str());
  return status.ok() ? 0 : 1;
}
