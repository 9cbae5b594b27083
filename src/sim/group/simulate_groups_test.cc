#include "sim/group/simulate_groups.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/cases_for_test.h"
#include "sim/group/group_plan.h"

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
    const GroupReport report = run_group_seed_twice(seed);
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
