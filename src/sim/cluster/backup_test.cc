// Steps that do not wait for the slowest shards, on production servers and workers, whose programs compute
// for so long in virtual time.
#include <gtest/gtest.h>

#include "sim/cluster/simulate.h"

namespace thalweg::sim {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t kShards = 10, kSteps = 100;

struct Pace {
  Plan plan;
  bool catches_up = true;
  Instant ended{0};           // When the first shard's pass was over.
  std::uint64_t skipped = 0;  // Steps.
  std::uint64_t dropped = 0;
  std::vector<float> applied;  // Pushes, by shard.
  std::uint64_t applied_of_all() const {
    double sum = 0;
    for (const float pushes : applied) sum += pushes;
    return static_cast<std::uint64_t>(sum);
  }
};

// Each shard adds 1 to a row of its own in each step, computing from 10 to 100 ms for it.
Pace pace(Consistency consistency, bool catches_up) {
  Pace made;
  made.catches_up = catches_up;
  Plan& plan = made.plan;
  plan.seed = 5;
  plan.servers = 1;
  plan.workers = plan.shards = kShards;
  plan.consistency = consistency;
  TableSpec counts;
  counts.kind = TableSpec::Kind::kDense;
  counts.name = "counts";
  counts.rows = kShards;
  counts.ranges = 2;
  plan.tables = {counts};
  plan.steps.assign(kShards, {kSteps});
  plan.latency = 100us;
  plan.compute_min = 10ms;
  plan.compute_max = 100ms;
  plan.worker_turn.assign(kShards, Duration{});
  plan.timeout = 60s;
  plan.suspect_after = 5s;
  return made;
}

Task<Status> walk(ShardStore& store, Pace& pace, const Cluster*& cluster) {
  while (store.step().index < kSteps) {
    const Answer rows = co_await store.pull(TableId{0}, Keys::block(0, kShards));
    if (!rows.status.ok()) co_return rows.status;
    pace.skipped += rows.late;
    if (!rows.late || !pace.catches_up)
      store.push(TableId{0}, Keys::block(store.shard().value, 1), Rows(std::vector<float>{1.0f})).forget();
    if (const Status advanced = (co_await store.advance()).status; !advanced.ok()) co_return advanced;
  }
  if (pace.ended == Instant{0}) pace.ended = cluster->now();
  if (const Status ended = (co_await store.end_epoch()).status; !ended.ok()) co_return ended;
  co_return (co_await store.barrier(kLastBarrier)).status;
}

Task<Status> all_meet(ShardStore& store) { co_return (co_await store.barrier(kLastBarrier)).status; }

Pace walked(Consistency consistency, bool catches_up = true) {
  Pace made = pace(consistency, catches_up);
  const Cluster* known = nullptr;
  Cluster cluster(made.plan, nullptr,
                  {[&](ShardStore& store, const wire::Map&) { return walk(store, made, known); },
                   [](ShardStore& store, const wire::Map&) { return all_meet(store); }});
  known = &cluster;
  EXPECT_EQ(run_to_end(cluster, Instant{Duration(60min).count()}), "");
  for (const auto& process : cluster.processes()) {
    if (process->server != nullptr) made.dropped = process->server->tables()[0]->pushes_dropped();
  }
  made.applied = cluster.contents(TableId{0}).rows;
  return made;
}

TEST(Backup, WithoutAnyLateShardItIsSync) {
  const Pace sync = walked(Consistency::sync()), none = walked(Consistency::backup(0));
  EXPECT_EQ(none.ended, sync.ended);
  EXPECT_EQ(none.dropped, 0u);
  EXPECT_EQ(none.skipped, 0u);
  EXPECT_EQ(none.applied, std::vector<float>(kShards, kSteps));
}

// Each push is applied or dropped, and a step has those of all shards but the late ones.
TEST(Backup, WhatIsNotAppliedIsCounted) {
  for (const std::uint32_t late : {1u, 2u, 5u}) {
    const Pace all = walked(Consistency::backup(late), false);
    EXPECT_EQ(all.applied_of_all() + all.dropped, kShards * kSteps) << late;
    EXPECT_GE(all.applied_of_all(), (kShards - late) * kSteps) << late;
    EXPECT_GT(all.dropped, 0u) << late;
  }
}

// The mean of the 8th of 10 times from 10 to 100 ms is 75 ms, that of the last 92 ms.
TEST(Backup, StepsTakeAsLongAsTheLastThatIsAwaited) {
  const Pace sync = walked(Consistency::sync()), two = walked(Consistency::backup(2));
  EXPECT_GT(two.skipped, 0u);
  EXPECT_GE(two.applied_of_all(), (kShards - 2) * kSteps);
  const double ratio = static_cast<double>(two.ended.ns) / static_cast<double>(sync.ended.ns);
  EXPECT_LT(ratio, 0.9);
}

}  // namespace
}  // namespace thalweg::sim
