#include "topology/network/max_min.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"

namespace thalweg {
namespace {

using Use = MaxMin::Use;

std::vector<double> rates(const std::vector<std::vector<Use>>& flows) {
  MaxMin max_min;
  for (const auto& uses : flows) max_min.add(uses);
  std::vector<double> out;
  for (const double pace : max_min.solve()) out.push_back(1 / pace);
  return out;
}

TEST(MaxMin, GivesALoneFlowItsNarrowestCapacity) {
  EXPECT_EQ(rates({{{3, 0.5}, {7, 0.25}}}), (std::vector<double>{2}));
}

// Bertsekas and Gallager, figure 6.13 in kind: capacities 0 and 1 of 1, 2 of 3; the flow that crosses 0 is
// held there, and what it leaves of 2 goes to the others.
TEST(MaxMin, GivesOthersWhatAFlowWithABottleneckElsewhereLeaves) {
  const double third = 1.0 / 3;
  const std::vector<double> got = rates({{{0, 1}}, {{0, 1}, {2, third}}, {{1, 1}, {2, third}}, {{2, third}}});
  const double expected[] = {0.5, 0.5, 1, 1.5};
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1e-12) << i;
}

TEST(MaxMin, SharesACapacityThatIsSlowerOneWay) {
  EXPECT_EQ(rates({{{0, 1}}, {{0, 3}}}), (std::vector<double>{0.25, 0.25}));
}

// What defines it: no capacity is exceeded, and each flow crosses one that is used up and where nobody has
// more.
TEST(MaxMin, LeavesEachFlowABottleneckThatIsUsedUp) {
  Random random(7);
  for (int trial = 0; trial < 300; ++trial) {
    const auto capacities = static_cast<std::uint32_t>(1 + random.below(12));
    std::vector<double> seconds(capacities);
    for (double& each : seconds) each = 1.0 / static_cast<double>(1 + random.below(9));
    std::vector<std::vector<Use>> flows(1 + random.below(40));
    for (auto& uses : flows) {
      for (std::uint32_t c = 0; c < capacities; ++c) {
        if (random.below(3) == 0) uses.push_back({c, seconds[c]});
      }
      if (uses.empty()) uses.push_back({0, seconds[0]});
    }
    const std::vector<double> got = rates(flows);
    std::vector<double> used(capacities), fastest(capacities);
    for (std::size_t f = 0; f < flows.size(); ++f) {
      for (const Use& use : flows[f]) {
        used[use.capacity] += got[f] * use.seconds;
        fastest[use.capacity] = std::max(fastest[use.capacity], got[f]);
      }
    }
    for (const double share : used) EXPECT_LE(share, 1 + 1e-9) << trial;
    for (std::size_t f = 0; f < flows.size(); ++f) {
      EXPECT_TRUE(std::any_of(flows[f].begin(), flows[f].end(),
                              [&](const Use& use) {
                                return used[use.capacity] > 1 - 1e-9 &&
                                       got[f] > fastest[use.capacity] * (1 - 1e-9);
                              }))
          << trial << " flow " << f;
    }
  }
}

}  // namespace
}  // namespace thalweg
