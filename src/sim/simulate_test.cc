#include "sim/simulate.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

namespace thalweg::sim {
namespace {

void expect_ok(std::uint64_t seed) {
  const Report report = run_seed(seed);
  ASSERT_TRUE(report.ok()) << "seed " << seed << ": " << report.violation << "\n"
                           << report.plan << "\nreplay: thalweg simulate faults --replay " << seed
                           << " --trace";
}

TEST(Simulate, FixedSeedsHold) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) ASSERT_NO_FATAL_FAILURE(expect_ok(seed));
}

TEST(Simulate, SeedsThatOnceFailedHold) {
  std::ifstream file(THALWEG_SOURCE_DIR "/tests/scenario/seeds.txt");
  std::string line;
  std::size_t seeds = 0;
  while (std::getline(file, line)) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream numbers(line);
    for (std::uint64_t seed = 0; numbers >> seed; ++seeds) ASSERT_NO_FATAL_FAILURE(expect_ok(seed));
  }
  EXPECT_GT(seeds, 0u);
}

// THALWEG_TEST_SIM_SEEDS names the first of 300 seeds that nobody has run before.
TEST(Simulate, FreshSeedsHold) {
  const char* first = std::getenv("THALWEG_TEST_SIM_SEEDS");
  if (first == nullptr) GTEST_SKIP() << "THALWEG_TEST_SIM_SEEDS is not set";
  const std::uint64_t begin = std::strtoull(first, nullptr, 10);
  for (std::uint64_t seed = begin; seed < begin + 300; ++seed) ASSERT_NO_FATAL_FAILURE(expect_ok(seed));
}

TEST(Simulate, SameSeedSameRun) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const Report first = run_seed(seed), second = run_seed(seed);
    EXPECT_EQ(first.trace_hash, second.trace_hash) << seed;
    EXPECT_EQ(first.events, second.events) << seed;
  }
}

// Each kind of fault really strikes, and the bound on staleness is really reached.
TEST(Simulate, SeedsReachWhatTheyCheck) {
  NetworkCounts sum;
  std::uint32_t reached[4] = {};
  std::uint64_t behind[2] = {};
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    const Report report = run_seed(seed);
    const NetworkCounts& n = report.network;
    sum.dropped += n.dropped, sum.repeated += n.repeated, sum.delayed += n.delayed;
    sum.flipped += n.flipped, sum.split += n.split, sum.cut_off += n.cut_off, sum.combined += n.combined;
    if (report.consistency.kind == Consistency::Kind::kBounded && report.lead_max == report.consistency.bound)
      ++reached[report.consistency.bound];
    std::uint64_t& most = behind[report.consistency.kind == Consistency::Kind::kSync];
    most = std::max(most, report.behind_max);
  }
  for (const std::uint64_t count :
       {sum.dropped, sum.repeated, sum.delayed, sum.flipped, sum.split, sum.cut_off, sum.combined})
    EXPECT_GT(count, 100u);
  for (const std::uint32_t count : reached) EXPECT_GT(count, 0u);
  EXPECT_EQ(behind[0], limits::kStepsInFlightMax - 1);
  EXPECT_EQ(behind[1], limits::kStepsInFlightSync - 1);
}

}  // namespace
}  // namespace thalweg::sim
