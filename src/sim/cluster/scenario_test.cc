// Runs that are set up by hand, each for one promise.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/cases_for_test.h"
#include "placement/placement.h"
#include "sim/cluster/orders_for_test.h"
#include "sim/cluster/simulate.h"

namespace thalweg::sim {
namespace {

using namespace std::chrono_literals;

TableSpec table(std::string name, std::uint32_t dim, std::uint16_t ranges, RuleKind rule = RuleKind::kAdd) {
  TableSpec spec;
  spec.name = std::move(name);
  spec.dim = dim;
  spec.ranges = ranges;
  spec.rule.kind = rule;
  spec.rule.initial_accumulator = 0.1f;
  return spec;
}

Plan calm_plan(std::uint32_t servers, std::uint32_t workers, std::uint32_t shards, std::uint32_t steps) {
  Plan plan;
  plan.seed = 7;
  plan.servers = servers;
  plan.workers = workers;
  plan.shards = shards;
  plan.tables = {table("t", 2, 8)};
  plan.steps.assign(shards, {steps});
  plan.latency = 100us;
  plan.worker_turn.assign(workers, Duration{});
  plan.timeout = 60s;
  plan.suspect_after = 5s;
  return plan;
}

Report run_ok(const Plan& plan) {
  Report report = run_plan(plan);
  EXPECT_TRUE(report.ok()) << report.violation << "\n" << report.plan;
  return report;
}

// Ho et al. 2013, section 3: the fastest worker leads the slowest by the bound, never by more.
TEST(Scenario, BoundIsReachedAndNeverExceeded) {
  for (const std::uint32_t bound : {0u, 1u, 3u, 10u}) {
    Plan plan = calm_plan(2, 4, 4, 60);
    plan.consistency = Consistency::bounded(bound);
    plan.worker_turn = {500us, 100us, 100us, 100us};
    plan.worker_turn[0] = 5ms;
    EXPECT_EQ(run_ok(plan).lead_max, bound);
  }
}

// The larger the bound, the less time is spent waiting.
TEST(Scenario, WaitingFallsAsTheBoundGrows) {
  Duration last = Duration::max();
  for (const std::uint32_t bound : {0u, 1u, 4u, 16u}) {
    Plan plan = calm_plan(2, 4, 4, 400);
    plan.consistency = Consistency::bounded(bound);
    plan.frame_faults.delay = 0.05;
    plan.frame_faults.delay_max = 50ms;
    plan.worker_turn.assign(4, 200us);
    Cluster cluster(plan);
    ASSERT_EQ(run_to_end(cluster, Instant{Duration(10min).count()}), "");
    EXPECT_LE(cluster.watch().lead_max(), bound);
    EXPECT_LT(cluster.work().pull_wait(), last) << "bound " << bound;
    last = cluster.work().pull_wait();
  }
}

TEST(Scenario, SyncIsStalenessZeroHoweverSlowAWorkerIs) {
  Plan plan = calm_plan(2, 3, 5, 30);
  plan.tables.push_back(table("model", 3, 5, RuleKind::kAdagrad));
  plan.worker_turn[1] = 20ms;
  EXPECT_EQ(run_ok(plan).lead_max, 0u);
}

// A sync step is reduced by a tree over shards, so floats add up to the same bits in any order of arrival:
// those of one thread, since a step reads neither less nor more than all earlier ones.
TEST(Scenario, OrderOfArrivalChangesNoBitOfASyncModel) {
  for (const RuleKind rule : {RuleKind::kAdam, RuleKind::kSgd}) {
    const Orders orders = arrive_in_many_orders(Consistency::sync(), rule, 500);
    EXPECT_EQ(orders.violation, "");
    EXPECT_GT(orders.distinct, 400u);
    EXPECT_EQ(orders.of_step, 24u) << "of four shards";
  }
}

TEST(Scenario, OrderOfArrivalChangesNoSumOfIntegers) {
  for (const Consistency mode : {Consistency::sync(), Consistency::async()}) {
    const Orders orders = arrive_in_many_orders(mode, RuleKind::kAdd, 500);
    EXPECT_EQ(orders.violation, "");
    EXPECT_GT(orders.distinct, 400u);
    EXPECT_GE(orders.of_step, 12u) << "of four shards, two of them one worker's";
  }
}

TEST(Scenario, PushesWithoutPullsStayWithinBounds) {
  Plan plan = calm_plan(2, 2, 2, 300);
  plan.pull_chance = 0;
  plan.unanswered_max = 40;
  plan.worker_turn = {10ms, 0ms};
  run_ok(plan);
}

TEST(Scenario, ALongPassOfOneShardIsNoStallAtTheBarrier) {
  Plan plan = calm_plan(1, 2, 2, 1);
  plan.steps[0] = {40};
  plan.timeout = 10s;
  plan.consistency = Consistency::async();
  plan.worker_turn = {250ms, 0ms};
  plan.suspect_after = 60s;
  Cluster cluster(plan);
  EXPECT_EQ(run_to_end(cluster, Instant{Duration(10min).count()}), "");
  EXPECT_GT(cluster.now(), Instant{0} + 2 * plan.timeout);
}

// Two shards that compute for three times the scheduler's patience in each step.
Plan plan_of_long_steps() {
  Plan plan = calm_plan(2, 2, 2, 3);
  plan.suspect_after = 2s;
  plan.timeout = 60s;
  return plan;
}

std::uint32_t last_map_epoch(const Plan& plan) {
  Cluster cluster(plan);
  EXPECT_EQ(run_to_end(cluster, Instant{Duration(10min).count()}), "");
  std::uint32_t epoch = 0;
  for (const auto& process : cluster.processes()) epoch = std::max(epoch, process->map_epoch);
  return epoch;
}

TEST(Scenario, WhoComputesBeyondPatienceIsNotLost) {
  Plan plan = plan_of_long_steps();
  plan.compute_min = plan.compute_max = 3 * plan.suspect_after;
  EXPECT_EQ(last_map_epoch(plan), 1u);
  plan.combine = Combining::machine();
  EXPECT_EQ(last_map_epoch(plan), 1u);
}

// run_ok() compares with a run of one worker that computes in no time.
TEST(Scenario, ComputingChangesNoBit) {
  Plan plan = calm_plan(2, 3, 5, 20);
  plan.tables.push_back(table("model", 3, 5, RuleKind::kAdagrad));
  plan.compute_max = 40ms;
  EXPECT_EQ(run_ok(plan).lead_max, 0u);
}

// Nodes speak, and ask again, more often where patience is shorter.
TEST(Scenario, AShortTimeoutEndsNoJobThatGetsOn) {
  for (const Duration timeout : {200ms, 1000ms, 3000ms, 6000ms}) {
    Plan plan = calm_plan(2, 3, 4, 1);
    plan.steps.assign(4, {200});
    plan.timeout = timeout;
    plan.suspect_after = timeout / 2;
    plan.worker_turn.assign(3, timeout / 100);
    Cluster cluster(plan);
    EXPECT_EQ(run_to_end(cluster, Instant{Duration(10min).count()}), "") << timeout / 1ms;
    EXPECT_GT(cluster.now(), Instant{0} + 3 * timeout);
    EXPECT_EQ(cluster.scheduler().view().map_epoch, 1u) << "somebody was taken for lost";
  }
}

Task<Status> wait_for_all(ShardStore& store) { co_return (co_await store.barrier(kLastBarrier)).status; }

// Least squares by SGD: 200 steps of 32 samples in all, dealt to the shards.
Task<Status> descend(ShardStore& store, std::uint32_t shards) {
  constexpr std::uint32_t kRows = 5, kBatch = 32;
  while (store.step().index < 200) {
    const Answer weights = co_await store.pull(TableId{0}, Keys::block(0, kRows));
    if (!weights.status.ok()) co_return weights.status;
    std::vector<float> grads(kRows);
    for (std::uint32_t i = store.shard().value; i < kBatch; i += shards) {
      Random sample = Random(store.step().index).split(i);
      float x[kRows], error = -1.0f;
      for (std::uint32_t j = 0; j < kRows; ++j) {
        x[j] = static_cast<float>(sample.unit()) - 0.3f;
        error += x[j] * (weights.rows[j] - static_cast<float>(j));
      }
      for (std::uint32_t j = 0; j < kRows; ++j) grads[j] += error * x[j] / kBatch;
    }
    store.push(TableId{0}, Keys::block(0, kRows), Rows(std::move(grads))).forget();
    const Status advanced = (co_await store.advance()).status;
    if (!advanced.ok()) co_return advanced;
  }
  const Status ended = (co_await store.end_epoch()).status;
  if (!ended.ok()) co_return ended;
  co_return (co_await store.barrier(kLastBarrier)).status;
}

// Many workers with small batches in sync mode are one worker with a large batch.
TEST(Scenario, SyncIsSerialTraining) {
  std::vector<std::vector<float>> models;
  for (const std::uint32_t workers : {1u, 4u}) {
    Plan plan = calm_plan(2, workers, workers, 200);
    plan.tables = {table("w", 1, 4, RuleKind::kSgd)};
    plan.tables[0].kind = TableSpec::Kind::kDense;
    plan.tables[0].rows = 5;
    plan.jitter = 2ms;
    Cluster cluster(plan, nullptr,
                    {[&](ShardStore& store, const wire::Map&) { return descend(store, workers); },
                     [](ShardStore& store, const wire::Map&) { return wait_for_all(store); }});
    ASSERT_EQ(run_to_end(cluster, Instant{Duration(10min).count()}), "");
    EXPECT_EQ(cluster.watch().lead_max(), 0u);
    models.push_back(cluster.contents(TableId{0}).rows);
  }
  ASSERT_EQ(models[0].size(), models[1].size());
  for (std::size_t i = 0; i < models[0].size(); ++i) {
    EXPECT_NEAR(models[0][i], models[1][i], 1e-6);
    EXPECT_NE(models[0][i], 0.0f);
  }
}

// Tasks that hand the thread to each other for long do not make their worker look dead.
TEST(Scenario, TasksThatYieldInTurnsKeepTheirWorkerAlive) {
  Plan plan = calm_plan(1, 2, 4, 1);
  plan.worker_turn.assign(2, 1ms);
  const auto yield_often = [](ShardStore& store) -> Task<Status> {
    for (int i = 0; i < 10000; ++i) {
      const Status status = (co_await store.yield()).status;
      if (!status.ok()) co_return status;
    }
    co_return (co_await store.barrier(kLastBarrier)).status;
  };
  Cluster cluster(plan, nullptr,
                  {[&](ShardStore& store, const wire::Map&) { return yield_often(store); },
                   [](ShardStore& store, const wire::Map&) { return wait_for_all(store); }});
  ASSERT_EQ(run_to_end(cluster, Instant{Duration(10min).count()}), "");
  EXPECT_EQ(cluster.scheduler().view().workers, 2u);
  EXPECT_EQ(cluster.scheduler().view().map_epoch, 1u);
}

// Of a worker's death.
enum class Notice : std::uint8_t { kSilence, kClosed, kTold };

// A killed worker's shards go on elsewhere, whenever it was killed, and no bit of the model changes.
TEST(Scenario, SyncBitsSurviveAKillAtAnyMoment) {
  Plan plan = calm_plan(3, 3, 4, 4);
  plan.steps[1] = {2, 3};
  plan.steps[0] = plan.steps[2] = plan.steps[3] = {4, 2};
  plan.tables = {table("model", 2, 6, RuleKind::kAdagrad), table("counts", 1, 3)};
  plan.pull_chance = 0.6;
  plan.unanswered_max = 3;
  plan.jitter = 3ms;
  std::uint64_t events = 0;
  {
    Cluster cluster(plan);
    ASSERT_EQ(run_to_end(cluster, Instant{Duration(10min).count()}), "");
    events = cluster.events();
  }
  for (std::uint64_t moment = 1; moment < events; moment += 3 * kEveryForTest) {
    for (const Notice notice : {Notice::kSilence, Notice::kClosed, Notice::kTold}) {
      Cluster cluster(plan);
      while (cluster.events() < moment && cluster.step()) {
      }
      constexpr std::uint32_t kVictim = 5;  // After the scheduler, three servers and a worker.
      const NodeId id = cluster.processes()[kVictim]->id;
      cluster.kill(kVictim);
      if (notice == Notice::kClosed)
        cluster.at(cluster.now() + limits::kPeerGrace, [&] { cluster.tell_lost(0, id); });
      if (notice == Notice::kTold) cluster.tell_dead(kVictim);
      cluster.start_worker({});
      ASSERT_EQ(run_to_end(cluster, Instant{Duration(10min).count()}), "") << "killed after event " << moment;
      ASSERT_EQ(compare_with_oracle(cluster), "") << "killed after event " << moment;
      ASSERT_EQ(compare_with_fault_free(cluster), "") << "killed after event " << moment;
    }
  }
}

// A worker that was taken for dead comes back with frames of its own under way.
TEST(Scenario, APausedWorkerIsFencedAndChangesNothing) {
  Plan plan = calm_plan(2, 3, 3, 6);
  plan.tables.push_back(table("model", 2, 6, RuleKind::kSgd));
  for (std::uint64_t moment = 30; moment < 150; moment += 5) {
    Cluster cluster(plan);
    while (cluster.events() < moment && cluster.step()) {
    }
    constexpr std::uint32_t kVictim = 4;
    cluster.pause(kVictim, cluster.now() + 3 * plan.suspect_after);
    while (cluster.now() < Instant{0} + 4 * plan.suspect_after && cluster.step()) {
    }
    ASSERT_TRUE(cluster.findings().none()) << cluster.findings().first();
    ASSERT_EQ(compare_with_oracle(cluster), "") << moment;
    ASSERT_EQ(compare_with_fault_free(cluster), "") << moment;
  }
}

TEST(Scenario, ALostServerEndsTheJobAndIsNamed) {
  Plan plan = calm_plan(3, 2, 4, 20);
  plan.worker_turn = {5ms, 5ms};
  Cluster cluster(plan);
  while (cluster.events() < 60 && cluster.step()) {
  }
  constexpr std::uint32_t kVictim = 2;
  const NodeId id = cluster.processes()[kVictim]->id;
  ASSERT_EQ(id.role, Role::kServer);
  cluster.kill(kVictim);
  while (!cluster.over() && cluster.now() < Instant{Duration(20s).count()} && cluster.step()) {
  }
  ASSERT_TRUE(cluster.over()) << "a node still waits";
  const std::string lost = text_of(Placement::even(8, 3).owned_by(id.index)) + " of 8";
  for (const auto& process : cluster.processes()) {
    const std::optional<Status>* how = process->scheduler != nullptr ? &process->scheduler->stopped()
                                       : process->server != nullptr ? &process->server->membership().stopped()
                                       : process->worker != nullptr ? &process->worker->membership().stopped()
                                                                    : nullptr;
    if (how == nullptr) continue;
    ASSERT_TRUE(how->has_value());
    EXPECT_EQ((*how)->code(), Code::kPeerLost);
    EXPECT_NE((*how)->message().find(node_name(id)), std::string::npos) << (*how)->message();
    EXPECT_NE((*how)->message().find(lost), std::string::npos) << (*how)->message();
  }
}

// One worker is stuck for ever while the scheduler trusts it: those who wait for its shard say so and end.
TEST(Scenario, AStuckShardEndsTheJobAtTheDeadlineAndIsNamed) {
  Plan plan = calm_plan(2, 3, 3, 60);
  plan.consistency = Consistency::bounded(3);
  plan.pull_chance = 0.5;
  plan.unanswered_max = 10;
  plan.jitter = 5ms;  // Pushes overtake each other, so that two servers tell of different progress.
  plan.suspect_after = 24h;
  plan.timeout = 30s;
  Cluster cluster(plan);
  while (cluster.events() < 600 && cluster.step()) {
  }
  constexpr std::uint32_t kVictim = 4;
  const NodeId id = cluster.processes()[kVictim]->id;
  cluster.pause(kVictim, Instant{Duration(24h).count()});
  while (!cluster.scheduler().stopped() && cluster.now() < Instant{Duration(200s).count()} &&
         cluster.step()) {
  }
  ASSERT_TRUE(cluster.scheduler().stopped()) << "everybody still waits";
  EXPECT_EQ(cluster.scheduler().stopped()->code(), Code::kTimeout);
  EXPECT_NE(cluster.scheduler().stopped()->message().find("of " + node_name(id)), std::string::npos)
      << cluster.scheduler().stopped()->message();
}

// Its connections stay open, so that nothing but its silence tells.
TEST(Scenario, AStoppedSchedulerEndsEveryNodeAtTheDeadline) {
  for (const Duration when : {Duration(20ms), Duration(2s)}) {
    Plan plan = calm_plan(2, 2, 2, 2000);
    plan.consistency = Consistency::async();
    plan.timeout = 30s;
    plan.worker_turn.assign(2, 5ms);
    Cluster cluster(plan);
    while (cluster.now() < Instant{when.count()} && cluster.step()) {
    }
    cluster.pause(0, Instant{Duration(24h).count()});
    const Instant late = cluster.now() + plan.timeout + 3s;
    while (cluster.now() < late && cluster.step()) {
    }
    for (std::uint32_t p = 1; p < cluster.processes().size(); ++p) {
      const Process& process = *cluster.processes()[p];
      const auto& how = process.server != nullptr ? process.server->membership().stopped()
                                                  : process.worker->membership().stopped();
      ASSERT_TRUE(how.has_value()) << node_name(process.id);
      EXPECT_EQ(how->code(), Code::kPeerLost);
      EXPECT_NE(how->message().find("scheduler"), std::string::npos) << how->message();
    }
  }
}

TEST(Scenario, AWorkerCutOffFromAServerForEverEndsAtTheDeadline) {
  Plan plan = calm_plan(2, 2, 2, 20);
  plan.timeout = 30s;
  plan.node_faults.until = 24h;
  Cluster cluster(plan);
  cluster.network().block({3, 1});
  while (!cluster.over() && cluster.now() < Instant{Duration(100s).count()} && cluster.step()) {
  }
  ASSERT_TRUE(cluster.over()) << "a node still waits";
  EXPECT_EQ(cluster.scheduler().stopped()->code(), Code::kTimeout);
  EXPECT_NE(cluster.scheduler().stopped()->message().find("server-0"), std::string::npos)
      << cluster.scheduler().stopped()->message();
}

}  // namespace
}  // namespace thalweg::sim
