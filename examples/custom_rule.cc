// An update rule of the application, applied by the servers: SGD whose gradient is clipped to a length, and
// whose rows are averaged over time (the moving average is what gets pulled).
#include <cmath>
#include <cstdio>
#include <numeric>
#include <vector>

#include "thalweg/job.h"

using namespace thalweg;

constexpr TableId kRows{0};
constexpr std::uint32_t kDim = 3, kSteps = 20, kShards = 2;

// With g clipped to length at most 1 (Pascanu et al., "On the difficulty of training recurrent neural
// networks", ICML 2013): w <- w - rate * g in the state; row <- decay * row + (1 - decay) * w.
class ClippedAverage final : public CustomRule {
 public:
  std::size_t state_floats(std::size_t dim) const override { return dim; }
  void update(std::span<float> row, std::span<float> state, std::span<const float> grad) const override {
    const float length = std::sqrt(std::inner_product(grad.begin(), grad.end(), grad.begin(), 0.0f));
    const float scale = length > 1.0f ? 1.0f / length : 1.0f;
    for (std::size_t i = 0; i < row.size(); ++i) {
      state[i] -= kRate * scale * grad[i];
      row[i] = kDecay * row[i] + (1 - kDecay) * state[i];
    }
  }

 private:
  static constexpr float kRate = 0.5f, kDecay = 0.9f;
};

std::vector<float> gradient(std::uint32_t shard, std::uint32_t step) {
  return {static_cast<float>(shard + 1), static_cast<float>(step) * 0.1f, -0.25f};
}

Task<Status> push_all(Store& store) {
  const std::vector<Key> row(1, 42);
  for (std::uint32_t step = 0; step < kSteps; ++step) {
    store.push(kRows, Keys::of(row), Rows(gradient(store.shard().value, step))).forget();
    if (const Answer ended = co_await store.advance(); !ended.status.ok()) co_return ended.status;
  }
  co_return ok_status();
}

int main() {
  JobOptions options;
  options.data_shards = kShards;
  options.rules["clipped-average"] = std::make_shared<ClippedAverage>();
  options.tables.resize(1);
  options.tables[0].name = "rows";
  options.tables[0].dim = kDim;
  options.tables[0].rule.kind = RuleKind::kCustom;
  options.tables[0].rule.custom = "clipped-average";
  auto job = Job::start(options);
  if (!job) return std::fprintf(stderr, "%s\n", job.status().message().c_str()), 1;
  if (const Status status = job->run(push_all); !status.ok())
    return std::fprintf(stderr, "%s\n", status.message().c_str()), 1;

  // The same by hand: in sync mode the rule gets the sum of the shards' gradients, once a step.
  std::vector<float> expected(kDim), state(kDim);
  for (std::uint32_t step = 0; step < kSteps; ++step) {
    std::vector<float> sum(kDim);
    for (std::uint32_t shard = 0; shard < kShards; ++shard)
      for (std::uint32_t i = 0; i < kDim; ++i) sum[i] += gradient(shard, step)[i];
    ClippedAverage().update(expected, state, sum);
  }
  bool same = false;
  const Status seen = job->scan(kRows, [&](Key key, std::span<const float> row) {
    same = key == 42 && std::equal(row.begin(), row.end(), expected.begin(), expected.end());
    std::printf("row %llu: %.6f %.6f %.6f\n", static_cast<unsigned long long>(key), row[0], row[1], row[2]);
  });
  return seen.ok() && same ? 0 : 1;
}
