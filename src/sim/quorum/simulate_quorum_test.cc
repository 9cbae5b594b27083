#include "sim/quorum/simulate_quorum.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/cases_for_test.h"
#include "sim/quorum/quorum_parts.h"
#include "sim/shrink/shrink_for_test.h"

namespace thalweg::sim {
namespace {

void expect_quorum_ok(std::uint64_t seed) {
  const QuorumReport report = run_quorum_seed(seed);
  ASSERT_TRUE(report.ok()) << "seed " << seed << ": " << report.violation << "\n"
                           << report.plan << "\nreplay: thalweg simulate quorum --replay " << seed
                           << " --trace";
}

QuorumPlan plan_of(std::uint64_t seed, std::uint32_t read, std::uint32_t write) {
  QuorumPlan plan = draw_quorum_plan(seed);
  plan.replicas = 3;
  plan.servers = 3 + static_cast<std::uint32_t>(seed % 3);
  plan.server.sloppy = false;
  plan.server.read = read;
  plan.server.write = write;
  plan.disk_losses = plan.crash ? write - 1 : 0;
  plan.old_ring_chance = 0;
  return plan;
}

TEST(SimulateQuorum, FixedSeedsHold) {
  for (std::uint64_t seed = 1; seed <= 300; seed += kEveryForTest)
    ASSERT_NO_FATAL_FAILURE(expect_quorum_ok(seed));
}

// THALWEG_TEST_SIM_SEEDS names the first of 300 seeds that nobody has run before.
TEST(SimulateQuorum, FreshSeedsHold) {
  const char* first = std::getenv("THALWEG_TEST_SIM_SEEDS");
  if (first == nullptr) GTEST_SKIP() << "THALWEG_TEST_SIM_SEEDS is not set";
  const std::uint64_t begin = std::strtoull(first, nullptr, 10);
  for (std::uint64_t seed = begin; seed < begin + 300; seed += kEveryForTest)
    ASSERT_NO_FATAL_FAILURE(expect_quorum_ok(seed));
}

TEST(SimulateQuorum, SameSeedSameRun) {
  for (std::uint64_t seed = 1; seed <= 50; seed += kEveryForTest) {
    const QuorumReport report = quorum_seeds().run(seed, {}, nullptr);
    ASSERT_TRUE(report.ok()) << "seed " << seed << ": " << report.violation;
  }
}

// T35: of the same seeds, quorums that overlap read nothing stale, and single answers do.
TEST(SimulateQuorum, SeedsReachStaleReadsWhereQuorumsDoNotOverlap) {
  std::uint64_t stale_of_one = 0, gets = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const QuorumReport two = run_quorum_plan(plan_of(seed, 2, 2));
    ASSERT_TRUE(two.ok()) << "seed " << seed << ": " << two.violation;
    ASSERT_EQ(two.stale, 0U) << seed;
    gets += two.gets;
    const QuorumReport one = run_quorum_plan(plan_of(seed, 1, 1));
    ASSERT_TRUE(one.ok()) << "seed " << seed << ": " << one.violation;
    stale_of_one += one.stale;
  }
  EXPECT_GT(stale_of_one, 10U);
  EXPECT_GT(gets, 1000U);
}

TEST(SimulateQuorum, SeedsReachWhatTheyCheck) {
  QuorumReport all;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    const QuorumReport report = run_quorum_seed(seed);
    all.failed += report.failed;
    all.stale += report.stale;
    all.hints_kept += report.hints_kept;
    all.hints_delivered += report.hints_delivered;
    all.repairs += report.repairs;
    all.synced += report.synced;
    all.restored += report.restored;
    all.redirected += report.redirected;
    all.crashes += report.crashes;
    all.disks += report.disks;
    all.partitions += report.partitions;
    all.pauses += report.pauses;
  }
  for (const std::uint64_t count :
       {all.failed, all.stale, all.hints_kept, all.hints_delivered, all.repairs, all.synced, all.restored,
        all.redirected, all.crashes, all.disks, all.partitions, all.pauses})
    EXPECT_GT(count, 3U);
}

TEST(SimulateQuorum, SmallerRingsKeepTheirPromises) {
  for (std::uint64_t seed = 1; seed <= 20; seed += kEveryForTest) {
    const QuorumPlan plan = draw_quorum_plan(seed);
    const auto run = [](const QuorumPlan& smaller) { return run_quorum_plan(smaller); };
    const auto least = least_that_holds(plan, run, 60);
    if (!least) continue;
    EXPECT_FALSE(least->any_fault());
    EXPECT_EQ(least->servers, plan.replicas);
    EXPECT_EQ(least->clients, 1u);
    EXPECT_EQ(least->requests, 1u);
  }
}

TEST(SimulateQuorum, WhatARingDoesNotHaveIsRefused) {
  QuorumPlan plan = draw_quorum_plan(3);
  for (const char* wrong : {"workers=1", "fault.0", "requests=1000", "servers"}) {
    const Status status = reduce(plan, *parse_reductions(wrong));
    EXPECT_EQ(status.code(), Code::kUsage) << wrong;
    EXPECT_NE(status.message().find("this seed's ring"), std::string::npos) << status.message();
  }
}

TEST(SimulateQuorum, WithoutFaultsNothingFails) {
  for (std::uint64_t seed = 1; seed <= 100; seed += kEveryForTest) {
    QuorumPlan plan = draw_quorum_plan(seed);
    plan.network.frame_faults = {};
    plan.partition = plan.pause = plan.crash = false;
    const QuorumReport report = run_quorum_plan(plan);
    ASSERT_TRUE(report.ok()) << "seed " << seed << ": " << report.violation;
    EXPECT_EQ(report.failed, 0U) << seed;
  }
}

}  // namespace
}  // namespace thalweg::sim
