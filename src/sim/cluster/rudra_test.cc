// The systems of Gupta, Zhang and Wang, ICDM 2016, on the production server and worker: how much of a
// learner's time is computing, where pushing and pulling take nine tenths as long as that.
#include <gtest/gtest.h>

#include <algorithm>

#include "sim/cluster/simulate.h"
#include "sim/cluster/timed_job.h"

namespace thalweg::sim {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t kRows = 3375, kRudraSteps = 200;
constexpr double kComputeMs = 10, kPushMs = 4.5, kPullMs = 4.5;

// Half the squared distance to ones.
Task<Status> approach(Store& store) {
  const Keys all = Keys::block(0, kRows);
  while (store.step().index < kRudraSteps) {
    const Answer read = co_await store.pull(TableId{0}, all);
    if (!read.status.ok()) co_return read.status;
    std::vector<float> grads(kRows);
    for (std::uint32_t i = 0; i < kRows; ++i) grads[i] = read.rows[i] - 1;
    store.learnt(1);
    store.push(TableId{0}, all, Rows(std::move(grads))).forget();
    if (const Status next = (co_await store.advance()).status; !next.ok()) co_return next;
  }
  if (const Status ended = (co_await store.end_epoch()).status; !ended.ok()) co_return ended;
  co_return (co_await store.barrier(kLastBarrier)).status;
}

struct Measured {
  double step_ms = 0;
  double overlap = 0;  // Part of a learner's time in which it computes.
  double staleness = 0;
};

// Two learners, of which the second one sends through the first where there is a tree. What the first then
// sends and receives in a step takes 9 ms each way, as does what the server does in Rudra-base.
Measured train(Consistency consistency, Combining combine) {
  TimedJob job;
  job.workers = job.shards = 2;
  job.consistency = consistency;
  job.combine = combine;
  TableSpec weights;
  weights.kind = TableSpec::Kind::kDense;
  weights.name = "weights";
  weights.rows = kRows;
  weights.ranges = 1;
  weights.rule.kind = RuleKind::kSgd;
  weights.rule.rate = 0.1f;
  job.tables = {weights};
  job.bytes_per_second = sizeof(float) * kRows / (kPushMs * 1e-3);
  job.latency = 20us;
  job.compute = *ComputeTime::parse("10ms");
  job.program = approach;
  const TimedRun run = run_timed(job);
  EXPECT_TRUE(run.status.ok()) << run.status.message();
  EXPECT_EQ(run.gradients, 2 * kRudraSteps);
  return {std::chrono::duration<double, std::milli>(run.time).count() / kRudraSteps, 1 - run.idle_share,
          mean_of(run.staleness)};
}

TEST(Rudra, EachSystemComputesMoreOfItsTime) {
  const Measured base = train(Consistency::softsync(1), Combining::none());
  const Measured adv = train(Consistency::free_softsync(1), Combining::tree(1));
  const Measured star = train(Consistency::free_softsync(1), Combining::tree_both_ways(1));
  for (const auto& [name, of] : {std::pair("base", base), {"adv", adv}, {"adv*", star}})
    std::printf("%s: a step %.2f ms, overlap %.1f %%, staleness %.2f\n", name, of.step_ms, 100 * of.overlap,
                of.staleness);
  // Base waits for its push before it reads; adv has its push travel while it computes, adv* both.
  EXPECT_NEAR(base.step_ms, kComputeMs + kPushMs + kPullMs, 0.03 * base.step_ms);
  EXPECT_NEAR(adv.step_ms, kComputeMs + kPullMs, 0.03 * adv.step_ms);
  EXPECT_LT(base.overlap + 0.1, adv.overlap);
  EXPECT_LT(adv.overlap + 0.1, star.overlap);
  EXPECT_GE(star.overlap, 0.95);
  EXPECT_NEAR(star.step_ms, kComputeMs, 0.05 * kComputeMs);
  EXPECT_LT(star.staleness, 8);  // Rows are not merely those of long ago.
}

// Rows come down through others, who may die at any moment: each push is still applied once, and nobody waits
// for ever.
TEST(Rudra, ThoseThroughWhomRowsComeMayDieAtAnyMoment) {
  Plan plan;
  plan.seed = 5;
  plan.workers = 4;
  plan.shards = 6;
  plan.consistency = Consistency::free_softsync(2);
  plan.combine = Combining::tree_both_ways(1);
  TableSpec rows;
  rows.kind = TableSpec::Kind::kDense;
  rows.name = "rows";
  rows.rows = 20;
  rows.ranges = 4;
  plan.tables = {rows};
  plan.steps.assign(plan.shards, {6, 3});
  plan.latency = 1ms;
  plan.jitter = 2ms;
  plan.worker_turn.assign(plan.workers, Duration{});
  plan.compute_max = 4ms;
  plan.timeout = 60s;
  plan.suspect_after = 5s;
  constexpr Instant kFar{Duration(10min).count()};
  std::uint64_t events = 0;
  {
    Cluster cluster(plan);
    ASSERT_EQ(run_to_end(cluster, kFar), "");
    ASSERT_EQ(compare_with_oracle(cluster), "");
    events = cluster.events();
  }
  for (std::uint64_t moment = 20; moment < events; moment += 5) {
    Cluster cluster(plan);
    while (cluster.events() < moment && cluster.step()) {
    }
    const NodeId victim = worker_node(static_cast<std::uint32_t>(moment / 5 % 3));
    const auto& processes = cluster.processes();
    const auto found = std::ranges::find_if(
        processes, [&](const auto& process) { return process->id == victim && process->runs(); });
    if (found == processes.end()) continue;
    cluster.kill((*found)->place);
    if (moment % 2 == 0)
      cluster.at(cluster.now() + limits::kPeerGrace, [&] { cluster.tell_lost(0, victim); });
    ASSERT_EQ(run_to_end(cluster, kFar), "") << "killed after event " << moment;
    ASSERT_EQ(compare_with_oracle(cluster), "") << "killed after event " << moment;
  }
}

}  // namespace
}  // namespace thalweg::sim
