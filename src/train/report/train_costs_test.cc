#include "train/report/train_costs.h"

#include <gtest/gtest.h>

namespace thalweg {
namespace {

Counters counted(std::uint64_t at_0, std::uint64_t at_3, std::uint64_t at_100) {
  Counters out;
  if (at_0 > 0) out.count(lead_counter(0), at_0);
  if (at_3 > 0) out.count(lead_counter(3), at_3);
  if (at_100 > 0) out.count(lead_counter(100), at_100);
  out.count(CounterId::kStalenessSum, 3 * at_3 + 100 * at_100);
  out.count(CounterId::kStalenessMax, at_100 > 0 ? 100 : at_3 > 0 ? 3 : 0);
  return out;
}

TEST(TrainCosts, HaveTheMeanLeadOfAllPulls) {
  EXPECT_EQ(costs_of(counted(3, 1, 0), 0).staleness_mean, 0.75);
  EXPECT_EQ(costs_of(counted(1, 0, 1), 0).staleness_mean, 50);
  EXPECT_EQ(costs_of({}, 0).staleness_mean, 0);
}

TEST(TrainCosts, TellWhat99PercentDoNotExceed) {
  EXPECT_EQ(staleness_p99(counted(99, 1, 0)), 0u);
  EXPECT_EQ(staleness_p99(counted(98, 2, 0)), 3u);
  EXPECT_EQ(staleness_p99(counted(90, 9, 1)), 3u);
  EXPECT_EQ(staleness_p99(counted(90, 8, 2)), 100u) << "of 64 to 127, no more than the most";
  EXPECT_EQ(staleness_p99(counted(5, 1, 0)), 3u);
  EXPECT_EQ(staleness_p99({}), 0u);
}

TEST(TrainCosts, CountPullsByLead) {
  const auto pulls = led_pulls(counted(2, 0, 7));
  ASSERT_EQ(pulls.size(), 2u);
  EXPECT_EQ(pulls[0].steps_max, 0u);
  EXPECT_EQ(pulls[1].steps_min, 64u);
  EXPECT_EQ(pulls[1].steps_max, 127u);
  EXPECT_EQ(pulls[1].pulls, 7u);
}

}  // namespace
}  // namespace thalweg
