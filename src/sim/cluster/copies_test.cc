// Servers that have copies of each other's ranges, and are killed or stopped for longer than anybody waits.
#include <gtest/gtest.h>

#include <iostream>

#include "base/cases_for_test.h"
#include "sim/cluster/simulate.h"
#include "sim/cluster/verdict.h"
#include "sim/small_plan_for_test.h"

namespace thalweg::sim {
namespace {

using namespace std::chrono_literals;

TEST(Copies, RandomJobsSurviveTheServersThatTheyMayLose) {
  std::uint64_t well = 0, killed = 0, stopped = 0, outlived = 0;
  for (std::uint64_t seed = 1; seed <= 600; seed += kEveryForTest) {
    const Plan plan = draw_copied_plan(seed);
    const Report report = run_plan(plan);
    ASSERT_TRUE(report.ok()) << "seed " << seed << ": " << report.violation << "\n"
                             << report.plan << "\nreplay: thalweg simulate faults --copies --replay " << seed;
    well += report.ended_well;
    outlived += report.ended_well && report.servers_lost >= plan.replicas;
    for (const CoreFault& fault : plan.core_faults) {
      if (fault.role == Role::kServer && report.ended_well) ++(fault.pause > Duration{} ? stopped : killed);
    }
  }
  EXPECT_GT(well, 480u / kEveryForTest);
  EXPECT_GT(killed, 200u / kEveryForTest);
  EXPECT_GT(stopped, 80u / kEveryForTest);
  EXPECT_GT(outlived, 40u / kEveryForTest);  // As many servers as have a range, one after the other.
  std::cout << well << " jobs ended well, " << killed << " servers were killed and " << stopped
            << " stopped in these; " << outlived << " lost as many servers as have a range, or more\n";
}

// Each of these broke a promise once.
TEST(Copies, SeedsThatOnceFailedHold) {
  constexpr std::uint64_t kSeeds[] = {
      0,     2,     3,     6,     8,     9,     10,    11,    12,    13,    17,    32,      49,   78,
      82,    102,   105,   111,   134,   144,   268,   303,   1117,  1590,  2517,  4417,    4797, 5061,
      5139,  5708,  7569,  8008,  8977,  9739,  10726, 11491, 11527, 11950, 12417, 14039,   59,   17105,
      17834, 18182, 31017, 32969, 34418, 35326, 36489, 36544, 37175, 38105, 38541, 30005316};
  for (const std::uint64_t seed : kSeeds) {
    const Report report = run_plan(draw_copied_plan(seed));
    ASSERT_TRUE(report.ok()) << "seed " << seed << ": " << report.violation << "\n" << report.plan;
  }
}

// Each range on two servers, two workers, and nothing goes wrong by itself.
Plan plan_of_copies(std::uint32_t servers) {
  Plan plan = small_plan(servers, 2, 3, 6);
  plan.replicas = 2;
  plan.tables[0].ranges = 4;
  plan.keys = 6;
  return plan;
}

// At every moment of a small job each server in turn dies, and the next heir of the shards' worker with it.
TEST(Copies, AServerAndAWorkerMayDieAtAnyMoment) {
  Plan plan = plan_of_copies(2);
  for (std::uint64_t moment = 30; moment < 400; moment += 3) {
    plan.seed = moment;
    Cluster cluster(plan);
    while (cluster.events() < moment && cluster.step()) {
    }
    if (cluster.over()) break;
    if (!cluster.scheduler().started()) continue;
    for (const std::uint32_t victim : {1 + static_cast<std::uint32_t>(moment / 3 % 2), 4u}) {
      const NodeId id = cluster.processes()[victim]->id;
      cluster.kill(victim);
      cluster.at(cluster.now() + limits::kPeerGrace, [&cluster, id] { cluster.tell_lost(0, id); });
    }
    ASSERT_EQ(run_to_end(cluster, Instant{Duration(200s).count()}), "") << moment;
    ASSERT_TRUE(ended_well(cluster)) << moment;
    ASSERT_EQ(compare_with_fault_free(cluster), "") << moment;
  }
}

TEST(Copies, ALossIsMadeGoodOnceAllWhoAreLeftActWithoutTheLostServer) {
  Plan plan = plan_of_copies(3);
  std::uint64_t seen = 0;
  for (std::uint64_t moment = 40; moment < 400; moment += 3) {
    plan.seed = moment;
    Cluster cluster(plan);
    while (cluster.events() < moment && cluster.step()) {
    }
    if (cluster.over()) break;
    if (!cluster.scheduler().started()) continue;
    const auto victim = 1 + static_cast<std::uint32_t>(moment / 3 % 3);
    const NodeId id = cluster.processes()[victim]->id;
    cluster.kill(victim);
    cluster.at(cluster.now() + limits::kPeerGrace, [&cluster, id] { cluster.tell_lost(0, id); });
    std::vector<ServerFailover> told;
    while (cluster.step()) {
      told = cluster.scheduler().view().failovers;
      if (!told.empty() && told[0].recovered) break;
    }
    if (told.empty() || !told[0].recovered) {  // It had nothing more to do.
      ASSERT_TRUE(ended_well(cluster)) << moment;
      continue;
    }
    EXPECT_EQ(server_node(told[0].server), id) << moment;
    EXPECT_GT(*told[0].recovered, Duration{}) << "the map travels, and the word of it";
    for (const auto& process : cluster.processes()) {
      if (process->server == nullptr || !process->runs()) continue;
      for (const Placement& placement : process->server->map().placement)
        EXPECT_FALSE(placement.places(id.index)) << moment;
    }
    ++seen;
  }
  EXPECT_GT(seen, 50u);
}

// Of three servers that have each range two are left, and another comes behind them: 1-2-3, 2-3-1 and 3-1-2
// are chains of what one server owned.
TEST(Copies, ChainsThatGetANewTailDoNotWaitForEachOther) {
  for (const std::uint32_t replicas : {2u, 3u}) {
    Plan plan = plan_of_copies(4);
    plan.replicas = replicas;
    plan.shards = 2;
    plan.consistency = Consistency::async();
    plan.tables[0].ranges = 12;
    plan.tables[0].rule = {};
    plan.keys = 40;
    plan.steps.assign(2, {40});
    plan.unanswered_max = 2;
    plan.latency = 100us;
    Cluster cluster(plan);
    std::uint32_t victim = 1;
    for (; victim < 4 && !cluster.over(); ++victim) {
      while (!cluster.scheduler().started() || cluster.scheduler().copying_since())
        ASSERT_TRUE(cluster.step());
      const std::uint64_t moment = cluster.events() + 40;
      while (cluster.events() < moment && cluster.step()) {
      }
      const NodeId id = cluster.processes()[victim]->id;
      cluster.kill(victim);
      cluster.tell_dead(victim);
      EXPECT_TRUE(cluster.scheduler().lost(id));
    }
    EXPECT_EQ(victim, 4u);
    ASSERT_EQ(run_to_end(cluster, Instant{Duration(200s).count()}), "") << replicas;
    ASSERT_TRUE(ended_well(cluster)) << replicas;
    ASSERT_EQ(compare_copies(cluster), "") << replicas;
    ASSERT_EQ(compare_with_oracle(cluster), "") << replicas;
  }
}

// What the observer reads behind a pass is what the passes so far have pushed, whoever is lost meanwhile.
TEST(Looks, ShardsWaitUntilTheObserverHasReadThePass) {
  std::uint64_t well = 0, lost = 0;
  for (std::uint64_t seed = 1; seed <= 600; seed += kEveryForTest) {
    const Report report = run_plan(draw_looking_plan(seed));
    ASSERT_TRUE(report.ok()) << "seed " << seed << ": " << report.violation << "\n" << report.plan;
    well += report.ended_well;
    lost += report.servers_lost;
  }
  EXPECT_GT(well, 400u / kEveryForTest);
  if (kEveryForTest > 1) return;
  EXPECT_GT(lost, 100u);
}

// Pushes the same rows in each step, as every shard does.
Task<Status> push_all_rows(ShardStore& store) {
  constexpr std::uint64_t kRows = 24;
  while (store.step().index < 10) {
    const Status pushed =
        (co_await store.push(TableId{0}, Keys::block(0, kRows), Rows(std::vector<float>(4 * kRows, 1))))
            .status;
    if (!pushed.ok()) co_return pushed;
    const Status next = (co_await store.advance()).status;
    if (!next.ok()) co_return next;
  }
  const Status ended = (co_await store.end_work()).status;
  if (!ended.ok()) co_return ended;
  co_return (co_await store.barrier(kLastBarrier)).status;
}

// What servers counted: values of pushes, and of what they have sent to those who keep copies.
std::pair<std::uint64_t, std::uint64_t> value_bytes(Consistency mode, std::uint32_t shards,
                                                    std::uint32_t replicas) {
  Plan plan = plan_of_copies(3);
  plan.consistency = mode;
  plan.workers = plan.shards = shards;
  plan.replicas = replicas;
  plan.tables[0].kind = TableSpec::Kind::kDense;
  plan.tables[0].rows = 24;
  plan.tables[0].dim = 4;
  plan.steps.assign(shards, {10});
  plan.worker_turn.assign(shards, 0ms);
  plan.judged = false;
  Programs programs;
  programs.shard = [](ShardStore& store, const wire::Map&) { return push_all_rows(store); };
  programs.observer = [](ShardStore& store, const wire::Map&) -> Task<Status> {
    co_return (co_await store.barrier(kLastBarrier)).status;
  };
  Cluster cluster(plan, nullptr, programs);
  while (!cluster.over() && cluster.step()) {
  }
  EXPECT_TRUE(ended_well(cluster));
  Counters sum;
  for (const auto& process : cluster.processes()) {
    if (process->server != nullptr) sum.count(process->server->counters());
  }
  return {sum[CounterId::kPushValueBytes], sum[CounterId::kCopyValueBytes]};
}

// T28: in sync mode copies get the sum of a step's pushes, to the byte the n-th part of these; else each
// push.
TEST(Copies, GetTheSumOfAStepWhereThereIsOne) {
  constexpr std::uint64_t kOnePush = 24 * 4 * sizeof(float) * 10;
  for (const std::uint32_t replicas : {1u, 2u, 3u}) {
    for (const std::uint32_t shards : {1u, 3u, 8u}) {
      const auto [pushed, copied] = value_bytes(Consistency::sync(), shards, replicas);
      EXPECT_EQ(pushed, kOnePush * shards);
      EXPECT_EQ(copied * shards, pushed * (replicas - 1))
          << shards << " shards, " << replicas << " servers a range";
    }
    for (const Consistency mode : {Consistency::async(), Consistency::bounded(2)}) {
      const auto [pushed, copied] = value_bytes(mode, 8, replicas);
      EXPECT_EQ(copied, pushed * (replicas - 1));
    }
  }
}

}  // namespace
}  // namespace thalweg::sim
