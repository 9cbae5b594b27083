// Downpour where a worker dies, on production nodes in virtual time: Dean et al., NIPS 2012, section 4.1,
// have the other replicas go on as if nothing had happened.
#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "client/replica/replica_store.h"
#include "sim/cluster/simulate.h"
#include "train/algorithm/algorithm.h"

namespace thalweg {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t kReplicas = 4, kLostSteps = 200, kLostRows = 3;
constexpr Duration kCompute = 1s;
constexpr Instant kKilled{Duration(60s).count()}, kLater{Duration(120s).count()};

sim::Plan replicas(const TableSpec& table) {
  sim::Plan plan;
  plan.servers = 1;
  plan.workers = plan.shards = kReplicas;
  plan.consistency = Consistency::async();
  plan.tables = {table};
  plan.steps.assign(kReplicas, {kLostSteps});
  plan.latency = 1ms;
  plan.worker_turn.assign(kReplicas, Duration{});
  plan.timeout = 60s;
  plan.suspect_after = 5s;
  plan.judged = false;
  return plan;
}

Task<Status> learn_ones(Store& store, std::vector<Instant>& gradients, const std::function<Instant()>& now) {
  const Keys rows = Keys::block(0, kLostRows);
  while (store.step().epoch == 0 && store.step().index < kLostSteps) {
    const Answer read = co_await store.pull(TableId{0}, rows);
    if (!read.status.ok()) co_return read.status;
    std::vector<float> gradient(kLostRows);
    for (std::uint32_t i = 0; i < kLostRows; ++i) gradient[i] = read.rows[i] - 1;
    gradients.push_back(now());
    store.push(TableId{0}, rows, Rows(std::move(gradient))).forget();
    if (const Status next = (co_await store.advance()).status; !next.ok()) co_return next;
  }
  if (const Status ended = (co_await store.end_epoch()).status; !ended.ok()) co_return ended;
  co_return (co_await store.barrier(kLastBarrier)).status;
}

Task<Status> learn_by(const ChosenAlgorithm& chosen, ShardStore& shared, const TableSpec& table,
                      std::vector<Instant>& gradients, const std::function<Instant()>& now) {
  auto replica = Replica::make({table});
  if (!replica) co_return replica.status();
  AlgorithmShard shard;
  shard.shard = shared.shard();
  shard.shards = kReplicas;
  ReplicaStore store(shared, *std::move(replica), chosen.algorithm->make(chosen.values, shard),
                     shared.step());
  co_return co_await learn_ones(store, gradients, now);
}

Task<Status> meet_all(ShardStore& store) { co_return (co_await store.barrier(kLastBarrier)).status; }

std::size_t count_between(const std::vector<Instant>& gradients, Instant from, Instant to) {
  return static_cast<std::size_t>(
      std::ranges::count_if(gradients, [&](Instant at) { return at >= from && at < to; }));
}

TEST(Downpour, TheOtherReplicasKeepTheirRateWhenOneDies) {
  const auto chosen = choose_algorithm("downpour:fetch=1,push=3");
  ASSERT_TRUE(chosen);
  TableSpec table;
  table.kind = TableSpec::Kind::kDense;
  table.name = "w";
  table.rows = kLostRows;
  table.rule.kind = RuleKind::kSgd;
  table.rule.rate = 0.01f;
  const sim::Plan plan = replicas(table);
  std::vector<Instant> gradients;
  std::function<Instant()> now;
  sim::Cluster cluster(
      plan, nullptr,
      {.shard = [&](ShardStore& store,
                    const wire::Map&) { return learn_by(*chosen, store, table, gradients, now); },
       .observer = [](ShardStore& store, const wire::Map&) { return meet_all(store); },
       .computed_for =
           [&, done = std::size_t{0}](Instant) mutable {
             return std::exchange(done, gradients.size()) < gradients.size() ? kCompute : Duration{};
           }});
  now = [&] { return cluster.now(); };
  while (cluster.now() < kKilled && cluster.step()) {
  }
  const auto& processes = cluster.processes();
  const auto victim = std::ranges::find_if(
      processes, [](const auto& process) { return process->worker != nullptr && !process->observer; });
  ASSERT_NE(victim, processes.end());
  cluster.kill((*victim)->place);
  ASSERT_EQ(sim::run_to_end(cluster, Instant{Duration(60min).count()}), "");
  const std::size_t before = count_between(gradients, Instant{0}, kKilled);
  const std::size_t after = count_between(gradients, kKilled, kLater);
  EXPECT_GT(before, 200u);
  EXPECT_GE(static_cast<double>(after), 0.95 * 3 / 4 * static_cast<double>(before));
  EXPECT_LT(after, before) << "one of four is gone";
}

}  // namespace
}  // namespace thalweg
