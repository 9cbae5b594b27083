// Nodes that join while a job runs: it goes on by them, and no bit of it changes.
#include <gtest/gtest.h>

#include "sim/cluster/simulate.h"
#include "sim/cluster/verdict.h"

namespace thalweg::sim {
namespace {

using namespace std::chrono_literals;

// Nothing goes wrong by itself.
Plan plan_of_joins(Consistency consistency) {
  Plan plan;
  plan.servers = 2;
  plan.workers = 1;
  plan.shards = 4;
  plan.consistency = consistency;
  TableSpec table;
  table.name = "t";
  table.ranges = 6;
  table.rule.kind = consistency.kind == Consistency::Kind::kSync ? RuleKind::kAdagrad : RuleKind::kAdd;
  table.rule.initial_accumulator = 0.1f;
  plan.tables = {table};
  plan.keys = 12;
  plan.steps.assign(4, {20});
  plan.unanswered_max = 4;
  plan.latency = 1ms;
  plan.worker_turn = {0ms};
  plan.timeout = 60s;
  plan.suspect_after = 3s;
  return plan;
}

std::uint32_t shards_of(const Cluster& cluster, std::uint32_t worker) {
  std::uint32_t count = 0;
  for (const wire::ShardOwner& owner : cluster.scheduler().map().shards) count += owner.worker == worker;
  return count;
}

TEST(Joins, WorkersGetTheirSharesAtOnceAndNothingIsLostOrDoubled) {
  for (const Consistency mode : {Consistency::sync(), Consistency::bounded(2), Consistency::async()}) {
    const Plan plan = plan_of_joins(mode);
    Cluster cluster(plan);
    std::uint32_t late = 0;
    for (const Duration when : {20ms, 45ms}) {
      cluster.at(Instant{when.count()}, [&] { late = cluster.start_worker({}); });
    }
    ASSERT_EQ(run_to_end(cluster, Instant{Duration(100s).count()}), "");
    EXPECT_TRUE(ended_well(cluster));
    EXPECT_EQ(cluster.scheduler().map().shards.size(), 4u);
    EXPECT_EQ(shards_of(cluster, 0), 1u);
    EXPECT_EQ(shards_of(cluster, 1), 2u);
    EXPECT_EQ(shards_of(cluster, 2), 1u);
    EXPECT_GT(cluster.processes()[late]->worker->counters()[CounterId::kShardTimeNs], 0u);
    EXPECT_EQ(compare_with_oracle(cluster), "");
    if (mode.kind == Consistency::Kind::kSync) {
      EXPECT_EQ(compare_with_fault_free(cluster), "");
    }
  }
}

}  // namespace
}  // namespace thalweg::sim
