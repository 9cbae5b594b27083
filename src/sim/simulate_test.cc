#include "sim/simulate.h"

#include <gtest/gtest.h>

namespace thalweg::sim {
namespace {

TEST(Simulate, FixedSeedsHold) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    const Report report = run_seed(seed);
    ASSERT_TRUE(report.ok()) << "seed " << seed << ": " << report.violation << "\n" << report.plan;
  }
}

TEST(Simulate, SameSeedSameRun) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const Report first = run_seed(seed), second = run_seed(seed);
    EXPECT_EQ(first.trace_hash, second.trace_hash) << seed;
    EXPECT_EQ(first.events, second.events) << seed;
  }
}

}  // namespace
}  // namespace thalweg::sim
