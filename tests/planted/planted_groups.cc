// The simulator of groups, and the rules by which ranks meet, blame and end operations, over sources with one
// bug switched on: each is found within 1000 seeds, by the checker that sees to what it breaks, and without
// it the same seed is clean.
#include <gtest/gtest.h>

#include <iostream>
#include <string>

#include "base/planted.h"
#include "sim/findings.h"
#include "sim/simulate_groups.h"

namespace thalweg::sim {
namespace {

constexpr std::uint64_t kSeedsMax = 1000;

struct PlantedInGroups {
  Bug bug;
  const char* name;
  Checker finder;
  Checker or_by = finder;  // Where what it breaks may come out in two ways.
};

class PlantedGroupBug : public testing::TestWithParam<PlantedInGroups> {
 protected:
  void TearDown() override { planted = Bug::kNone; }
};

TEST_P(PlantedGroupBug, IsFoundByItsChecker) {
  for (std::uint64_t seed = 1; seed <= kSeedsMax; ++seed) {
    planted = GetParam().bug;
    const GroupReport report = run_group_seed(seed);
    planted = Bug::kNone;
    if (report.ok()) continue;
    std::cout << "seed " << seed << ": " << report.violation << "\n";
    RecordProperty("seed", std::to_string(seed));
    EXPECT_TRUE(found_by(GetParam().finder, report.violation) || found_by(GetParam().or_by, report.violation))
        << "seed " << seed << ": expected " << checker_name(GetParam().finder) << ", found "
        << report.violation;
    const GroupReport clean = run_group_seed(seed);
    EXPECT_TRUE(clean.ok()) << "seed " << seed << " without the bug: " << clean.violation;
    return;
  }
  FAIL() << kSeedsMax << " seeds did not find it";
}

constexpr PlantedInGroups kGroupBugs[] = {
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

TEST(PlantedGroups, NoneFindsNothing) {
  ASSERT_EQ(planted, Bug::kNone);
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    const GroupReport report = run_group_seed(seed);
    ASSERT_TRUE(report.ok()) << "seed " << seed << ": " << report.violation;
  }
}

}  // namespace
}  // namespace thalweg::sim
