// The bound of stale synchronous parallel, on threads of an application: Ho et al., NIPS 2013, section 2.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <limits>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "thalweg/job.h"
#include "train/algorithm/algorithm.h"

namespace thalweg {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t kSspShards = 4, kSteps = 40, kTimesSlower = 5;

// Which step each shard has read in.
class StepsRead {
 public:
  void reach(std::uint32_t shard, std::uint32_t step) {
    const std::lock_guard lock(mutex_);
    steps_[shard] = static_cast<int>(step);
    changed_.notify_all();
  }
  // Until all shards but the first are at `step`.
  void wait_for_others(std::uint32_t step) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] {
      return std::all_of(steps_.begin() + 1, steps_.end(),
                         [&](int at) { return at >= static_cast<int>(step); });
    });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<int> steps_ = std::vector<int>(kSspShards, -1);
};

// The most steps by which a read lacked another shard's updates.
struct Lag {
  int most = std::numeric_limits<int>::min();
};

// Each shard adds 1 to the row that is its own in each step, so that rows tell what a read has seen.
Lag count_steps(BlockingStore store, std::uint32_t bound, std::uint32_t times_slower, StepsRead& steps) {
  const Keys rows = Keys::block(0, kSspShards);
  const std::uint32_t own = store.shard().value;
  Lag lag;
  for (std::uint32_t step = 0; step < kSteps; ++step) {
    const auto seen = store.pull(TableId{0}, rows);
    EXPECT_TRUE(seen) << seen.status().message();
    if (!seen) {
      steps.reach(own, kSteps);  // Who waits for this one would wait forever.
      return lag;
    }
    EXPECT_EQ((*seen)[own], static_cast<float>(step)) << "a shard reads its own updates";
    for (const float updates : seen->span())
      lag.most = std::max(lag.most, static_cast<int>(step) - static_cast<int>(updates));
    steps.reach(own, step);
    if (own == 0) {
      steps.wait_for_others(std::min({times_slower * (step + 1), step + bound, kSteps - 1}));
      std::this_thread::sleep_for(1ms);  // Whoever may go on does.
    }
    std::vector<float> one(kSspShards);
    one[own] = 1;
    EXPECT_TRUE(store.push(TableId{0}, rows, Rows(std::move(one))).ok());
    EXPECT_TRUE(store.advance().ok());
  }
  EXPECT_TRUE(store.end_epoch().ok());
  return lag;
}

void expect_bound_is_reached(const std::string& algorithm, std::uint32_t bound, std::uint32_t times_slower) {
  const auto chosen = choose_algorithm(algorithm);
  ASSERT_TRUE(chosen);
  TableSpec table;
  table.kind = TableSpec::Kind::kDense;
  table.name = "steps";
  table.rows = kSspShards;
  table.rule.kind = RuleKind::kAdd;
  JobOptions options;
  options.tables = {table};
  options.workers = options.data_shards = kSspShards;
  options.consistency = chosen->consistency;
  options.timeout = 10s;
  auto job = Job::start(options);
  ASSERT_TRUE(job) << job.status().message();
  StepsRead steps;
  std::vector<Lag> lags(kSspShards);
  std::vector<std::thread> threads;
  for (std::uint32_t s = 0; s < kSspShards; ++s) {
    threads.emplace_back(
        [&, s] { lags[s] = count_steps(job->shard(ShardId{s}), bound, times_slower, steps); });
  }
  for (std::thread& thread : threads) thread.join();
  int most = 0;
  for (const Lag& lag : lags) most = std::max(most, lag.most);
  EXPECT_EQ(most, static_cast<int>(bound)) << algorithm;
  EXPECT_EQ(job->stats().staleness_max, bound) << algorithm;
}

// The first shard makes a step in the time in which the others make five, where they may.
TEST(Ssp, TheFastLeadTheSlowByTheBoundExactlyAndReadAllThatIsOlder) {
  for (const std::uint32_t bound : {0u, 1u, 3u, 4u, 10u, 16u})
    expect_bound_is_reached(fmt::format("ssp:{}", bound), bound, kTimesSlower);
}

// The first shard ends none of its steps before all others have begun the one that is K steps on: whoever
// waited at a smaller lead would wait forever.
TEST(Ssp, NoShardWaitsWhileItLeadsByLessThanTheBoundAndNoneLeadsByMore) {
  for (const std::uint32_t most : {1u, 2u, 7u})
    expect_bound_is_reached(fmt::format("ssp:{}", most), most, kSteps);
}

}  // namespace
}  // namespace thalweg
