// Pushes that are combined on their way: the same bits, fewer bytes, whoever dies.
#include <gtest/gtest.h>

#include <cmath>

#include "base/cases_for_test.h"
#include "sim/cluster/simulate.h"

namespace thalweg::sim {
namespace {

using namespace std::chrono_literals;

constexpr Instant kFar{Duration(10min).count()};
constexpr Combining kWays[] = {Combining::machine(), Combining::tree(1), Combining::tree(2)};

Plan calm_plan(std::uint32_t servers, std::uint32_t workers, std::uint32_t shards, Combining combine) {
  Plan plan;
  plan.seed = 11;
  plan.servers = servers;
  plan.workers = workers;
  plan.shards = shards;
  plan.combine = combine;
  TableSpec model;
  model.name = "model";
  model.dim = 2;
  model.ranges = 6;
  model.rule.kind = RuleKind::kAdagrad;
  model.rule.initial_accumulator = 0.1f;
  TableSpec counts;
  counts.name = "counts";
  counts.ranges = 3;
  plan.tables = {model, counts};
  plan.steps.assign(shards, {3, 2});
  plan.latency = 100us;
  plan.worker_turn.assign(workers, Duration{});
  plan.timeout = 60s;
  plan.suspect_after = 5s;
  return plan;
}

std::uint32_t place_of(const Cluster& cluster, NodeId id) {
  for (const auto& process : cluster.processes()) {
    if (process->id == id && process->runs()) return process->place;
  }
  return 0;
}

TEST(Combine, ThoseWhoLeadMayDieAtAnyMoment) {
  for (const Combining combine : kWays) {
    Plan plan = calm_plan(2, 4, 6, combine);
    plan.steps[1] = {1, 3};
    plan.pull_chance = 0.6;
    plan.unanswered_max = 3;
    plan.jitter = 3ms;
    std::uint64_t events = 0, combined = 0;
    {
      Cluster cluster(plan);
      ASSERT_EQ(run_to_end(cluster, kFar), "");
      events = cluster.events();
      combined = cluster.network().counts().combined;
    }
    EXPECT_GT(combined, 20u);
    for (std::uint64_t moment = 20; moment < events; moment += 5 * kEveryForTest) {
      Cluster cluster(plan);
      while (cluster.events() < moment && cluster.step()) {
      }
      const std::uint32_t victim = place_of(cluster, worker_node(static_cast<std::uint32_t>(moment / 5 % 2)));
      if (victim == 0) continue;
      const NodeId id = cluster.processes()[victim]->id;
      cluster.kill(victim);
      if (moment % 2 == 0) cluster.at(cluster.now() + limits::kPeerGrace, [&] { cluster.tell_lost(0, id); });
      ASSERT_EQ(run_to_end(cluster, kFar), "") << "killed after event " << moment;
      ASSERT_EQ(compare_with_oracle(cluster), "") << "killed after event " << moment;
      ASSERT_EQ(compare_with_fault_free(cluster), "") << "killed after event " << moment;
    }
  }
}

// Where pushes are counted a sum has no parts: what its lead takes along comes singly, and once.
TEST(Combine, CountedPushesAreAppliedOnceWhoeverDies) {
  std::uint64_t combined = 0, put_off = 0;
  for (const Combining combine : kWays) {
    Plan plan = calm_plan(2, 4, 6, combine);
    plan.consistency = Consistency::softsync(2);
    plan.tables[0].rule.kind = RuleKind::kAdd;
    plan.pull_chance = 0.5;
    plan.unanswered_max = 3;
    plan.latency = 3ms;
    plan.frame_faults.split = 0.2;
    plan.node_faults.until = 24h;
    std::uint64_t events = 0;
    {
      Cluster cluster(plan);
      ASSERT_EQ(run_to_end(cluster, kFar), "");
      events = cluster.events();
    }
    for (std::uint64_t moment = 20; moment < events; moment += 7 * kEveryForTest) {
      Cluster cluster(plan, [&](std::string_view line) {
        put_off += line.find("push-reply") != line.npos && line.find("shards") != line.npos &&
                   line.find("RETRY") != line.npos;
      });
      while (cluster.events() < moment && cluster.step()) {
      }
      const std::uint32_t victim = place_of(cluster, worker_node(static_cast<std::uint32_t>(moment / 7 % 2)));
      if (victim == 0) continue;
      const NodeId id = cluster.processes()[victim]->id;
      cluster.kill(victim);
      if (moment % 2 == 0) cluster.at(cluster.now() + limits::kPeerGrace, [&] { cluster.tell_lost(0, id); });
      ASSERT_EQ(run_to_end(cluster, kFar), "") << "killed after event " << moment;
      ASSERT_EQ(compare_with_oracle(cluster), "") << "killed after event " << moment;
      combined += cluster.network().counts().combined;
    }
  }
  EXPECT_GT(combined, 1000u / kEveryForTest);
  EXPECT_GT(put_off, 10u / kEveryForTest);
}

// Nobody hears the lead, but all others hear each other: pushes that are sent again pass it by.
TEST(Combine, ALeadThatNobodyReachesHoldsNobodyUp) {
  Plan plan = calm_plan(2, 3, 6, Combining::machine());
  plan.node_faults.until = 24h;
  Cluster cluster(plan);
  constexpr std::uint32_t kFirstWorker = 3;
  while (cluster.processes()[kFirstWorker]->worker->map().epoch == 0 && cluster.step()) {
  }
  const std::uint32_t lead = place_of(cluster, worker_node(0));
  for (std::uint32_t p = kFirstWorker; p < kFirstWorker + plan.workers; ++p) {
    cluster.network().block({p, lead});
  }
  ASSERT_EQ(run_to_end(cluster, kFar), "");
  EXPECT_EQ(cluster.scheduler().view().map_epoch, 1u);
  EXPECT_EQ(compare_with_oracle(cluster), "");
  EXPECT_EQ(compare_with_fault_free(cluster), "");
}

// Where nobody is late, nothing waits to be combined: a step takes no longer, and each server gets one push a
// table for all of a machine's shards.
TEST(Combine, OnePushATableAndStepReachesAServer) {
  Plan plan = calm_plan(1, 4, 8, Combining::machine());
  plan.steps.assign(8, {20});
  Cluster cluster(plan);
  ASSERT_EQ(run_to_end(cluster, kFar), "");
  EXPECT_LT(cluster.now(), Instant{0} + limits::kPeerGrace + 1s);
  const auto& process = *cluster.processes()[1];
  ASSERT_NE(process.server, nullptr);
  const std::uint64_t frames = (20 + 1) * plan.tables.size();
  EXPECT_EQ(cluster.scheduler().view().counters[CounterId::kPushes], frames);
}

// Each step pushes 256 draws from 2^14 keys, the k-th of them 1/k as likely as the first (Zipf's law).
Task<Status> push_zipf(ShardStore& store, std::uint32_t steps) {
  for (std::uint32_t step = 0; step < steps; ++step) {
    Random random = Random(step).split(store.shard().value);
    std::vector<Key> keys;
    for (int i = 0; i < 256; ++i) keys.push_back(static_cast<Key>(std::pow(2.0, 14 * random.unit())));
    const Keys distinct = Keys::of(keys);
    const Answer rows = co_await store.pull(TableId{0}, distinct);
    if (!rows.status.ok()) co_return rows.status;
    std::vector<float> grads(distinct.size() * 2);
    for (float& g : grads) g = static_cast<float>(random.unit()) - 0.5f;
    store.push(TableId{0}, distinct, Rows(std::move(grads))).forget();
    if (const Status next = (co_await store.advance()).status; !next.ok()) co_return next;
  }
  if (const Status end = (co_await store.end_epoch()).status; !end.ok()) co_return end;
  co_return (co_await store.barrier(kLastBarrier)).status;
}

TEST(Combine, FewerBytesReachTheServersAndTheBitsAreTheSame) {
  constexpr std::uint32_t kSteps = 20;
  std::vector<std::uint64_t> bytes;
  std::vector<float> first;
  for (const Combining combine : {Combining::none(), Combining::machine(), Combining::tree(2)}) {
    Plan plan = calm_plan(2, 4, 8, combine);
    plan.tables.resize(1);
    plan.steps.assign(8, {kSteps});
    Cluster cluster(plan, nullptr,
                    {[](ShardStore& store, const wire::Map&) { return push_zipf(store, kSteps); },
                     [](ShardStore& store, const wire::Map&) -> Task<Status> {
                       co_return (co_await store.barrier(kLastBarrier)).status;
                     }});
    ASSERT_EQ(run_to_end(cluster, kFar), "");
    bytes.push_back(0);
    for (const auto& process : cluster.processes()) {
      if (process->server != nullptr) bytes.back() += process->server->counters()[CounterId::kPushBytes];
    }
    const auto rows = cluster.contents(TableId{0}).rows;
    if (first.empty()) first = rows;
    ASSERT_EQ(rows, first);
  }
  std::cout << bytes[0] << " bytes of pushes singly, " << bytes[1] << " combined\n";
  EXPECT_LT(bytes[1], bytes[0] * 7 / 10);
  EXPECT_EQ(bytes[2], bytes[1]);
}

}  // namespace
}  // namespace thalweg::sim
