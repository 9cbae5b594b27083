// The simulator of versioned values, and the servers that it runs, over sources with one bug switched on:
// each is found within 1000 seeds, by the checker that sees to what it breaks, and without it the same seed
// is clean.
#include <gtest/gtest.h>

#include <string>

#include "planted_for_test.h"
#include "sim/quorum/quorum_parts.h"
#include "sim/quorum/simulate_quorum.h"

namespace thalweg::sim {
namespace {

class PlantedQuorumBug : public PlantedBug {};

TEST_P(PlantedQuorumBug, IsFoundByItsChecker) {
  expect_found([](std::uint64_t seed) { return run_quorum_seed(seed); });
}

constexpr Planted kQuorumBugs[] = {
    {Bug::kDotsForgotten, "DotsForgotten", Checker::kFresh, Checker::kKept},
    {Bug::kTriesApart, "TriesApart", Checker::kReaders},
    {Bug::kHintKept, "HintKept", Checker::kHints},
    {Bug::kReadsBeforeRestored, "ReadsBeforeRestored", Checker::kFresh},
    {Bug::kHintsCounted, "HintsCounted", Checker::kFresh},
    {Bug::kOneTooFew, "OneTooFew", Checker::kFresh},
    {Bug::kNeverCompared, "NeverCompared", Checker::kRoots},
};

INSTANTIATE_TEST_SUITE_P(Each, PlantedQuorumBug, testing::ValuesIn(kQuorumBugs),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(PlantedQuorum, AFailingSeedShrinksToASmallRingThatFailsAsWell) {
  expect_shrinks(Bug::kHintKept, draw_quorum_plan, run_quorum_plan, 0.4);
  expect_shrinks(Bug::kReadsBeforeRestored, draw_quorum_plan, run_quorum_plan, 0.5, "disks");
  expect_shrinks(Bug::kNeverCompared, draw_quorum_plan, run_quorum_plan, 0.3, "crashes");
}

TEST(PlantedQuorum, NoneFindsNothing) {
  ASSERT_EQ(planted, Bug::kNone);
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    const QuorumReport report = run_quorum_seed(seed);
    ASSERT_TRUE(report.ok()) << "seed " << seed << ": " << report.violation;
  }
}

}  // namespace
}  // namespace thalweg::sim
