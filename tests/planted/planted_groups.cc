// The simulator of groups, and the rules by which ranks meet, blame and end operations, over sources with one
// bug switched on: each is found within 1000 seeds, by the checker that sees to what it breaks, and without
// it the same seed is clean.
#include <gtest/gtest.h>

#include <string>

#include "planted_for_test.h"
#include "sim/group/group_parts.h"
#include "sim/group/simulate_groups.h"

namespace thalweg::sim {
namespace {

class PlantedGroupBug : public PlantedBug {};

TEST_P(PlantedGroupBug, IsFoundByItsChecker) {
  expect_found([](std::uint64_t seed) { return run_group_seed(seed); });
}

constexpr Planted kGroupBugs[] = {
    {Bug::kSilenceExcused, "SilenceExcused", Checker::kDeadline},
    {Bug::kGoodbyeForgotten, "GoodbyeForgotten", Checker::kBlame},
    {Bug::kSendersUntold, "SendersUntold", Checker::kTogether, Checker::kPromptness},
    {Bug::kLateAwaited, "LateAwaited", Checker::kDeadline},
    {Bug::kDeadLeaderCalled, "DeadLeaderCalled", Checker::kTogether},
    {Bug::kGuestsByArrival, "GuestsByArrival", Checker::kTogether},
    {Bug::kGuiltyExpected, "GuiltyExpected", Checker::kPromptness},
    {Bug::kLeftOutUnsaid, "LeftOutUnsaid", Checker::kTogether},
};

INSTANTIATE_TEST_SUITE_P(Each, PlantedGroupBug, testing::ValuesIn(kGroupBugs),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(PlantedGroups, AFailingSeedShrinksToASmallGroupThatFailsAsWell) {
  expect_shrinks(Bug::kSendersUntold, draw_group_plan, run_group_plan, 0.25, "fault.0");
  expect_shrinks(Bug::kGuiltyExpected, draw_group_plan, run_group_plan, 0.1, "fault.0");
  expect_shrinks(Bug::kLeftOutUnsaid, draw_group_plan, run_group_plan, 0.25, "fault.1");
}

TEST(PlantedGroups, NoneFindsNothing) {
  ASSERT_EQ(planted, Bug::kNone);
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    const GroupReport report = run_group_seed(seed);
    ASSERT_TRUE(report.ok()) << "seed " << seed << ": " << report.violation;
  }
}

}  // namespace
}  // namespace thalweg::sim
