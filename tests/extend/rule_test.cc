#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "thalweg/job.h"

std::shared_ptr<const thalweg::CustomRule> lion();

namespace thalweg {
namespace {

constexpr TableId kRows{0};
constexpr std::uint32_t kDim = 3, kSteps = 300;

// Pulls a row towards (-1, 0, 1), with the gradient of half its squared distance.
Task<Status> descend(Store& store) {
  const std::vector<Key> key(1, 42);
  for (std::uint32_t step = 0; step < kSteps; ++step) {
    const Answer row = co_await store.pull(kRows, Keys::of(key));
    if (!row.status.ok()) co_return row.status;
    std::vector<float> gradient(kDim);
    for (std::uint32_t i = 0; i < kDim; ++i) gradient[i] = row.rows[i] - (static_cast<float>(i) - 1);
    store.push(kRows, Keys::of(key), Rows(std::move(gradient))).forget();
    if (const Answer ended = co_await store.advance(); !ended.status.ok()) co_return ended.status;
  }
  co_return ok_status();
}

TEST(Rule, OfAFileOfItsOwnTrainsByItsName) {
  JobOptions options;
  options.data_shards = 2;
  options.rules["lion"] = lion();
  options.tables.resize(1);
  options.tables[0].name = "rows";
  options.tables[0].dim = kDim;
  options.tables[0].rule.kind = RuleKind::kCustom;
  options.tables[0].rule.custom = "lion";
  auto job = Job::start(options);
  ASSERT_TRUE(job.ok()) << job.status().message();
  const Status trained = job->run(descend);
  ASSERT_TRUE(trained.ok()) << trained.message();
  std::vector<float> learnt;
  const Status seen =
      job->scan(kRows, [&](Key, std::span<const float> row) { learnt.assign(row.begin(), row.end()); });
  ASSERT_TRUE(seen.ok()) << seen.message();
  ASSERT_EQ(learnt.size(), kDim);
  for (std::uint32_t i = 0; i < kDim; ++i) EXPECT_NEAR(learnt[i], static_cast<float>(i) - 1, 0.1) << i;
}

}  // namespace
}  // namespace thalweg
