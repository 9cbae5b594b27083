// Jobs that die as a whole and go on, in every mode.
#include <gtest/gtest.h>

#include <map>

#include "base/cases_for_test.h"
#include "sim/change/restarts.h"

namespace thalweg::sim {
namespace {

TEST(Restarts, LoseNoPushAndCountNoneTwice) {
  std::map<Consistency::Kind, int> seen;
  for (std::uint64_t seed = 1; seed <= 200; seed += kEveryForTest) {
    const Report report = run_seed_twice(seed, nullptr, Servers::kRestarted);
    ASSERT_TRUE(report.ok()) << "seed " << seed << ": " << report.violation << "\n" << report.plan;
    EXPECT_TRUE(report.ended_well);
    ++seen[report.consistency.kind];
  }
  EXPECT_GE(seen.size(), kEveryForTest == 1 ? 7u : 5u) << "modes";
}

// Two servers were asked a pass apart: some shards had left an end that others had yet to come to again.
TEST(Restarts, SeedsOfOld) {
  for (const std::uint64_t seed : {std::uint64_t{3332}}) {
    const Report report = run_seed_twice(seed, nullptr, Servers::kRestarted);
    EXPECT_TRUE(report.ok()) << "seed " << seed << ": " << report.violation;
  }
}

}  // namespace
}  // namespace thalweg::sim
