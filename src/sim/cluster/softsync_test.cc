// n-softsync on the production server and worker, whose programs compute for so long in virtual time: the
// staleness that Gupta, Zhang and Wang, ICDM 2016, section 4, measured, and what dividing by it is for.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <utility>

#include "base/random.h"
#include "sim/cluster/simulate.h"

namespace thalweg::sim {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t kLearners = 30, kSoftsyncRows = 4;
constexpr Duration kCompute = 30ms;

struct Learners {
  Plan plan;
  double jitter = 0;  // Of kCompute.
  Random random{11};
  Duration takes{};  // What is computed in this turn.
};

Learners learners(Consistency consistency, double jitter, std::uint32_t steps) {
  Learners made;
  made.jitter = jitter;
  Plan& plan = made.plan;
  plan.seed = 11;
  plan.servers = 1;
  plan.workers = plan.shards = kLearners;
  plan.consistency = consistency;
  TableSpec weights;
  weights.kind = TableSpec::Kind::kDense;
  weights.name = "weights";
  weights.rows = kSoftsyncRows;
  weights.ranges = 2;
  weights.rule.kind = RuleKind::kSgd;
  weights.rule.rate = 0.3f;
  plan.tables = {weights};
  plan.steps.assign(kLearners, {steps});
  plan.latency = 100us;
  plan.worker_turn.assign(kLearners, Duration{});
  plan.timeout = 60s;
  plan.suspect_after = 5s;
  return made;
}

// Half the squared distance to a point: each gradient is the distance.
Task<Status> approach(ShardStore& store, Learners& all) {
  while (store.step().index < all.plan.steps[0][0]) {
    const Answer weights = co_await store.pull(TableId{0}, Keys::block(0, kSoftsyncRows));
    if (!weights.status.ok()) co_return weights.status;
    all.takes = scaled(kCompute, 1 + all.jitter * (2 * all.random.unit() - 1));
    std::vector<float> grads(kSoftsyncRows);
    for (std::uint32_t i = 0; i < kSoftsyncRows; ++i) grads[i] = weights.rows[i] - static_cast<float>(i + 1);
    store.push(TableId{0}, Keys::block(0, kSoftsyncRows), Rows(std::move(grads))).forget();
    if (const Status advanced = (co_await store.advance()).status; !advanced.ok()) co_return advanced;
  }
  if (const Status ended = (co_await store.end_epoch()).status; !ended.ok()) co_return ended;
  co_return (co_await store.barrier(kLastBarrier)).status;
}

Task<Status> meet_all(ShardStore& store) { co_return (co_await store.barrier(kLastBarrier)).status; }

struct Learned {
  std::map<std::uint32_t, std::uint64_t> behind;  // How many pushes were so many updates behind.
  float error = 0;                                // Of the worst row.

  std::uint64_t pushes(std::uint32_t more_than = ~0u) const {
    std::uint64_t sum = 0;
    for (const auto& [updates, count] : behind) sum += more_than == ~0u || updates > more_than ? count : 0;
    return sum;
  }
  double mean() const {
    double sum = 0;
    for (const auto& [updates, count] : behind)
      sum += static_cast<double>(updates) * static_cast<double>(count);
    return sum / static_cast<double>(pushes());
  }
};

Learned learn(Learners all) {
  Cluster cluster(all.plan, nullptr,
                  {.shard = [&](ShardStore& store, const wire::Map&) { return approach(store, all); },
                   .observer = [](ShardStore& store, const wire::Map&) { return meet_all(store); },
                   .computed_for = [&](Instant) { return std::exchange(all.takes, {}); }});
  EXPECT_EQ(run_to_end(cluster, Instant{Duration(60min).count()}), "");
  Learned learned;
  for (const auto& process : cluster.processes()) {
    if (process->server != nullptr) learned.behind = process->server->tables()[0]->pushes_behind();
  }
  const Contents rows = cluster.contents(TableId{0});
  for (std::uint32_t i = 0; i < kSoftsyncRows; ++i) {
    const float off = std::abs(rows.rows[i] - static_cast<float>(i + 1));
    if (!(off <= learned.error)) learned.error = off;
  }
  return learned;
}

// The mean of (learners - 1) / c updates, and hardly ever twice n.
TEST(Softsync, StalenessIsWhatTheLawSays) {
  constexpr std::uint32_t kSteps = 300;
  for (const std::uint32_t n : {1u, 2u, 15u, 30u}) {
    const std::uint32_t pushes_at_once = kLearners / n;
    const double law = (kLearners - 1.0) / pushes_at_once;
    const Learned even = learn(learners(Consistency::softsync(n), 0.05, kSteps));
    EXPECT_EQ(even.pushes(), kLearners * kSteps);
    EXPECT_NEAR(even.mean(), law, 0.02 * law) << n;
    EXPECT_EQ(even.pushes(2 * n), 0u) << n;
    const Learned uneven = learn(learners(Consistency::softsync(n), 0.30, kSteps));
    EXPECT_LT(static_cast<double>(uneven.pushes(2 * n)), 1e-3 * static_cast<double>(uneven.pushes())) << n;
    RecordProperty("mean_of_" + std::to_string(n), std::to_string(even.mean()));
    std::printf("n %u: mean %.4f, law %.4f, most %u\n", n, even.mean(), law, even.behind.rbegin()->first);
  }
}

// At a rate at which single pushes, 29 updates behind, swing ever further.
TEST(Softsync, DividingByStalenessLearnsWhereTheFullRateDoesNot) {
  EXPECT_GT(learn(learners(Consistency::async(), 0.05, 40)).error, 100.0f);
  for (const std::uint32_t n : {1u, 2u, 15u, 30u})
    EXPECT_LT(learn(learners(Consistency::softsync(n), 0.05, 200)).error, 1e-3f) << n;
}

}  // namespace
}  // namespace thalweg::sim
