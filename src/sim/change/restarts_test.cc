// Jobs that die as a whole and go on, in every mode.
#include <gtest/gtest.h>

#include <map>

#include "base/cases_for_test.h"
#include "sim/change/restarts.h"

namespace thalweg::sim {
namespace {

TEST(Restarts, LoseNoPushAndCountNoneTwice) {
  std::map<Consistency::Kind, int> seen;
  for (std::uint64_t seed = 1; seed <= 400; seed += kEveryForTest) {
    const Report report = run_seed_twice(seed, nullptr, Servers::kRestarted);
    ASSERT_TRUE(report.ok()) << "seed " << seed << ": " << report.violation << "\n" << report.plan;
    EXPECT_TRUE(report.ended_well);
    ++seen[report.consistency.kind];
  }
  EXPECT_EQ(seen.size(), 7u) << "modes";
}

}  // namespace
}  // namespace thalweg::sim
