// Servers that are asked to leave, beside others that are lost: no bit of a job changes, and no node ends
// with an error.
#include "sim/change/drains.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>

#include "base/cases_for_test.h"
#include "sim/cluster/simulate.h"
#include "sim/cluster/verdict.h"
#include "sim/small_plan_for_test.h"
#include "wire/drain.h"

namespace thalweg::sim {
namespace {

using namespace std::chrono_literals;

TEST(Drains, RandomJobsGoOnWithoutServersThatLeave) {
  std::uint64_t well = 0, lost = 0;
  DrainCounts all;
  for (std::uint64_t seed = 1; seed <= 1000; seed += kEveryForTest) {
    const Report report = run_plan(draw_drained_plan(seed));
    ASSERT_TRUE(report.ok()) << "seed " << seed << ": " << report.violation << "\n"
                             << report.plan << "\nreplay: thalweg simulate faults --drains --replay " << seed;
    well += report.ended_well;
    lost += report.drains.left > 0 ? report.servers_lost : 0;
    const DrainCounts& of = report.drains;
    all.refused += of.refused, all.begun += of.begun, all.left += of.left, all.lost += of.lost;
    all.stayed += of.stayed, all.copied += of.copied;
  }
  EXPECT_GT(well, 700u / kEveryForTest);
  if (kEveryForTest > 1) return;  // The rest counts what all seeds reach.
  EXPECT_GT(all.refused, 300u);
  EXPECT_GT(all.left, 150u);
  EXPECT_GT(all.copied, 600u);
  EXPECT_GT(all.lost, 0u);
  EXPECT_GT(all.stayed, 0u);
  EXPECT_GT(lost, 20u);  // Beside servers that left.
  std::cout << well << " jobs ended well; of servers that were to leave " << all.refused << " were refused, "
            << all.left << " left with " << all.copied << " copied ranges, " << all.lost << " were lost, "
            << all.stayed << " stayed; " << lost << " servers were lost where others left\n";
}

// They broke promises once. 9: who comes second of four and lost the third did not wait for the fourth. 1337:
// who learnt of its ranges when the owner before was lost showed heirs later rows than that had shown.
// 711700: by an old map the observer passed the last barrier, and read from an owner that had been taken for
// lost.
TEST(Drains, SeedsThatOnceFailedHold) {
  for (const std::uint64_t seed : {9u, 1337u, 711700u}) {
    const Report report = run_plan(draw_drained_plan(seed));
    EXPECT_TRUE(report.ok()) << "seed " << seed << ": " << report.violation << "\n" << report.plan;
  }
}

Plan plan_of_drains(std::uint32_t servers, std::uint32_t replicas, Consistency consistency) {
  Plan plan = small_plan(servers, 2, 3, 10, consistency);
  plan.replicas = replicas;
  plan.drains = 1;  // By the test.
  plan.worker_turn = {0ms, 3ms};
  return plan;
}

ServerDrain ask(Cluster& cluster, std::uint32_t server) {
  Frame question;
  question.head.op = Op::kDrain;
  question.head.request = 7;
  question.first = encode(wire::Drain{server});
  const auto answer = cluster.ask_scheduler(question);
  if (!answer || !status_of(*answer).ok()) return {};
  return wire::decode_server_drain(answer->first).value_or(ServerDrain{});
}

void expect_nothing_changed(Cluster& cluster, std::uint64_t moment) {
  ASSERT_EQ(run_to_end(cluster, Instant{Duration(200s).count()}), "") << moment;
  ASSERT_TRUE(ended_well(cluster)) << moment;
  ASSERT_EQ(compare_copies(cluster), "") << moment;
  ASSERT_EQ(compare_with_oracle(cluster), "") << moment;
  const bool sync = cluster.workload().plan().consistency.kind == Consistency::Kind::kSync;
  ASSERT_EQ(sync ? compare_with_fault_free(cluster) : "", "") << moment;
}

// At every moment of a small job each server in turn is asked to leave.
void leave_at_any_moment(Plan plan) {
  std::uint64_t left = 0;
  for (std::uint64_t moment = 20; moment < 500; moment += 3 * kEveryForTest) {
    plan.seed = moment;
    Cluster cluster(plan);
    while (cluster.events() < moment && cluster.step()) {
    }
    if (cluster.over()) break;
    if (!cluster.scheduler().started() || cluster.scheduler().stopped()) continue;
    const auto server = static_cast<std::uint32_t>(moment / 3 % plan.servers);
    ask(cluster, server);
    EXPECT_EQ(cluster.scheduler().leaving(), server) << moment;
    expect_nothing_changed(cluster, moment);
    if (testing::Test::HasFatalFailure()) return;
    left += cluster.scheduler().has_left(server_node(server));
    EXPECT_TRUE(cluster.scheduler().view().failovers.empty()) << moment;
  }
  EXPECT_GT(left, 30u / kEveryForTest);
}

TEST(Drains, AServerMayLeaveAtAnyMoment) {
  for (const std::uint32_t replicas : {1u, 2u}) {
    for (const Consistency consistency : {Consistency::sync(), Consistency::bounded(1), Consistency::async()})
      leave_at_any_moment(plan_of_drains(3, replicas, consistency));
  }
}

// Killed so many events after it was asked to leave.
TEST(Drains, WhoIsToLeaveMayDieMeanwhile) {
  Plan plan = plan_of_drains(4, 2, Consistency::sync());
  std::uint64_t lost = 0, left = 0;
  for (std::uint64_t moment = 60; moment < 200; moment += 7) {
    for (std::uint64_t after = 1; after < 120; after += 4 * kEveryForTest) {
      plan.seed = moment;
      Cluster cluster(plan);
      while (cluster.events() < moment && cluster.step()) {
      }
      if (!cluster.scheduler().started() || cluster.scheduler().stopped()) continue;
      const auto server = static_cast<std::uint32_t>(moment % plan.servers);
      ask(cluster, server);
      while (cluster.events() < moment + after && cluster.step()) {
      }
      const auto& processes = cluster.processes();
      const auto place = static_cast<std::uint32_t>(
          std::ranges::find(processes, server_node(server), [](const auto& p) { return p->id; }) -
          processes.begin());
      if (!processes[place]->runs()) continue;
      cluster.kill(place);
      cluster.tell_dead(place);
      expect_nothing_changed(cluster, moment * 1000 + after);
      if (testing::Test::HasFatalFailure()) return;
      ++(cluster.scheduler().lost(server_node(server)) ? lost : left);
    }
  }
  EXPECT_GT(lost, 20u / kEveryForTest);
  EXPECT_GT(left, 0u) << "between its last map and its end";
}

TEST(Drains, WhoJoinsMayDieMeanwhile) {
  Plan plan = plan_of_drains(4, 2, Consistency::sync());
  std::uint64_t left = 0;
  for (std::uint64_t moment = 60; moment < 160; moment += 3) {
    plan.seed = moment;
    Cluster cluster(plan);
    while (cluster.events() < moment && cluster.step()) {
    }
    if (!cluster.scheduler().started() || cluster.scheduler().stopped()) continue;
    ask(cluster, 0);
    const auto& placement = cluster.scheduler().map().placement[0];
    const auto joins = [&](std::uint32_t server) { return !placement.joined_by(server).empty(); };
    std::uint32_t joiner = 1;
    while (joiner < 3 && !joins(joiner)) ++joiner;
    ASSERT_TRUE(joins(joiner));
    for (std::uint32_t p = 0; p < cluster.processes().size(); ++p) {
      if (cluster.processes()[p]->id != server_node(joiner)) continue;
      cluster.kill(p);
      cluster.tell_dead(p);
    }
    EXPECT_EQ(cluster.scheduler().leaving(), 0u);
    expect_nothing_changed(cluster, moment);
    if (testing::Test::HasFatalFailure()) return;
    left += cluster.scheduler().has_left(server_node(0));
  }
  EXPECT_GT(left, 10u);
}

}  // namespace
}  // namespace thalweg::sim
