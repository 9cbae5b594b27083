#include "sim/group/simulate_groups.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/cases_for_test.h"
#include "sim/group/group_parts.h"
#include "sim/shrink/shrink_for_test.h"

namespace thalweg::sim {
namespace {

void expect_group_ok(std::uint64_t seed) {
  const GroupReport report = run_group_seed(seed);
  ASSERT_TRUE(report.ok()) << "seed " << seed << ": " << report.violation << "\n"
                           << report.plan << "\nreplay: thalweg simulate faults --groups --replay " << seed
                           << " --trace";
}

TEST(SimulateGroups, FixedSeedsHold) {
  for (std::uint64_t seed = 1; seed <= 300; seed += kEveryForTest)
    ASSERT_NO_FATAL_FAILURE(expect_group_ok(seed));
}

// THALWEG_TEST_SIM_SEEDS names the first of 300 seeds that nobody has run before.
TEST(SimulateGroups, FreshSeedsHold) {
  const char* first = std::getenv("THALWEG_TEST_SIM_SEEDS");
  if (first == nullptr) GTEST_SKIP() << "THALWEG_TEST_SIM_SEEDS is not set";
  const std::uint64_t begin = std::strtoull(first, nullptr, 10);
  for (std::uint64_t seed = begin; seed < begin + 300; seed += kEveryForTest)
    ASSERT_NO_FATAL_FAILURE(expect_group_ok(seed));
}

TEST(SimulateGroups, SameSeedSameRun) {
  for (std::uint64_t seed = 1; seed <= 50; seed += kEveryForTest) {
    const GroupReport report = group_seeds().run(seed, {}, nullptr);
    ASSERT_TRUE(report.ok()) << "seed " << seed << ": " << report.violation;
  }
}

// Each kind of fault lets operations fail, and groups form anew and go on.
TEST(SimulateGroups, SeedsReachWhatTheyCheck) {
  std::uint64_t plans[4] = {}, failures[4] = {}, anew[4] = {};
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    const GroupPlan plan = draw_group_plan(seed);
    if (plan.faults.size() != 1) continue;
    const GroupReport report = run_group_plan(plan);
    const auto kind = static_cast<std::size_t>(plan.faults[0].kind);
    ++plans[kind];
    failures[kind] += report.failures > 0;
    anew[kind] += report.groups > 1;
  }
  for (std::size_t kind = 0; kind < 4; ++kind) {
    EXPECT_GT(plans[kind], 5U) << kind;
    EXPECT_GT(failures[kind], 2U) << kind;
    EXPECT_GT(anew[kind], 2U) << kind;
  }
}

TEST(SimulateGroups, SmallerGroupsKeepTheirPromises) {
  for (std::uint64_t seed = 1; seed <= 30; seed += kEveryForTest) {
    const GroupPlan plan = draw_group_plan(seed);
    const auto run = [](const GroupPlan& smaller) { return run_group_plan(smaller); };
    const auto least = least_that_holds(plan, run, 60);
    if (!least) continue;
    EXPECT_TRUE(least->faults.empty());
    EXPECT_EQ(least->ranks, 2u);
    EXPECT_EQ(least->operations, 1u);
    EXPECT_EQ(least->elements, 1u);
  }
}

// What happens to others goes on happening, only sooner.
TEST(SimulateGroups, LessOfAGroupKeepsWhatIsLeftOfItsFaults) {
  GroupPlan plan;
  plan.ranks = 6;
  const auto at = [](int ms) { return Instant{} + std::chrono::milliseconds(ms); };
  plan.faults = {{GroupFault::Kind::kKill, 5, 0, at(30), {}},
                 {GroupFault::Kind::kDisconnect, 1, 3, at(50), {}},
                 {GroupFault::Kind::kPause, 2, 0, at(90), std::chrono::seconds(1)}};
  ASSERT_EQ(reduce(plan, *parse_reductions("fault.0,ms-before-faults=10,ranks=4")).message(), "");
  ASSERT_EQ(plan.faults.size(), 2u);
  EXPECT_EQ(plan.faults[0].at, at(10));
  EXPECT_EQ(plan.faults[1].at, at(50));
  for (const char* wrong : {"ranks=3", "fault.2", "servers=1", "ms-before-faults=11"}) {
    const Status status = reduce(plan, *parse_reductions(wrong));
    EXPECT_EQ(status.code(), Code::kUsage) << wrong;
    EXPECT_NE(status.message().find("this seed's group"), std::string::npos) << status.message();
  }
}

TEST(SimulateGroups, WithoutFaultsNothingFails) {
  for (std::uint64_t seed = 1; seed <= 100; seed += kEveryForTest) {
    GroupPlan plan = draw_group_plan(seed);
    plan.faults.clear();
    const GroupReport report = run_group_plan(plan);
    ASSERT_TRUE(report.ok()) << "seed " << seed << ": " << report.violation;
    EXPECT_EQ(report.failures, 0U);
    EXPECT_EQ(report.groups, 1U);
    EXPECT_EQ(report.operations, std::uint64_t{plan.ranks} * plan.operations);
  }
}

}  // namespace
}  // namespace thalweg::sim
