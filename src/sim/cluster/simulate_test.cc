#include "sim/cluster/simulate.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "base/cases_for_test.h"

namespace thalweg::sim {
namespace {

void expect_ok(std::uint64_t seed) {
  const Report report = run_seed(seed);
  EXPECT_LE(report.virtual_time, report.time_allowed) << "seed " << seed;
  ASSERT_TRUE(report.ok()) << "seed " << seed << ": " << report.violation << "\n"
                           << report.plan << "\nreplay: thalweg simulate faults --replay " << seed
                           << " --trace";
}

TEST(Simulate, FixedSeedsHold) {
  for (std::uint64_t seed = 1; seed <= 300; seed += kEveryForTest) ASSERT_NO_FATAL_FAILURE(expect_ok(seed));
}

TEST(Simulate, SeedsThatOnceFailedHold) {
  std::ifstream file(THALWEG_SOURCE_DIR "/tests/scenario/seeds.txt");
  std::string line;
  std::size_t seeds = 0;
  while (std::getline(file, line)) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream numbers(line);
    for (std::uint64_t seed = 0; numbers >> seed; ++seeds) {
      ASSERT_NO_FATAL_FAILURE(expect_ok(seed));
      const Report mild =
          run_plan(draw_mild_plan(seed));  // Most were found when seeds meant no more than this.
      ASSERT_TRUE(mild.ok()) << "mild seed " << seed << ": " << mild.violation << "\n" << mild.plan;
    }
  }
  EXPECT_GT(seeds, 0u);
}

TEST(Simulate, WhatADeadServerHoldsIsNotMovedOn) {
  const Report report = run_plan(draw_moving_plan(1795854229223));
  ASSERT_TRUE(report.ok()) << report.violation << "\n" << report.plan;
}

// THALWEG_TEST_SIM_SEEDS names the first of 300 seeds that nobody has run before.
TEST(Simulate, FreshSeedsHold) {
  const char* first = std::getenv("THALWEG_TEST_SIM_SEEDS");
  if (first == nullptr) GTEST_SKIP() << "THALWEG_TEST_SIM_SEEDS is not set";
  const std::uint64_t begin = std::strtoull(first, nullptr, 10);
  for (std::uint64_t seed = begin; seed < begin + 300; seed += kEveryForTest) {
    ASSERT_NO_FATAL_FAILURE(expect_ok(seed));
    const Report moving = run_plan(draw_moving_plan(seed));
    ASSERT_TRUE(moving.ok()) << "seed " << seed << ": " << moving.violation << "\n" << moving.plan;
    const Report copied = run_plan(draw_copied_plan(seed));
    ASSERT_TRUE(copied.ok()) << "seed " << seed << ": " << copied.violation << "\n" << copied.plan;
  }
}

TEST(Simulate, SameSeedSameRun) {
  std::set<std::uint64_t> outcomes;
  std::size_t compared = 0;
  for (std::uint64_t seed = 1; seed <= 100; seed += kEveryForTest) {
    const Report first = run_seed(seed);
    const Report second = run_plan_again(plan_of(seed, Servers::kAny), first);
    EXPECT_EQ(first.trace_hash, second.trace_hash) << seed;
    EXPECT_EQ(first.events, second.events) << seed;
    EXPECT_EQ(first.outcome_hash, second.outcome_hash) << seed;
    EXPECT_EQ(first.ended_well, first.outcome_hash != 0) << seed;
    if (!first.ended_well) continue;
    ++compared;
    outcomes.insert(first.outcome_hash);
  }
  EXPECT_EQ(outcomes.size(), compared);  // It is of what they ended with.
}

// Each kind of fault really strikes, and the bound on staleness is really reached.
TEST(Simulate, SeedsReachWhatTheyCheck) {
  NetworkCounts sum;
  std::uint32_t reached[3] = {};  // By bound, from 1: a bound of 0 is sync.
  std::uint64_t behind[2] = {};
  std::uint64_t well = 0;
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    const Report report = run_seed(seed);
    const NetworkCounts& n = report.network;
    well += report.ended_well;
    sum.refused += n.refused, sum.closed += n.closed;
    sum.dropped += n.dropped, sum.repeated += n.repeated, sum.delayed += n.delayed;
    sum.flipped += n.flipped, sum.split += n.split, sum.cut_off += n.cut_off, sum.combined += n.combined;
    if (report.consistency.kind == Consistency::Kind::kBounded && report.lead_max == report.consistency.bound)
      ++reached[report.consistency.bound - 1];
    std::uint64_t& most = behind[report.consistency.kind == Consistency::Kind::kSync];
    most = std::max(most, report.behind_max);
  }
  for (const std::uint64_t count : {sum.dropped, sum.repeated, sum.delayed, sum.flipped, sum.split,
                                    sum.cut_off, sum.combined, sum.refused, sum.closed})
    EXPECT_GT(count, 100u);
  EXPECT_GT(well, 350u);
  for (const std::uint32_t count : reached) EXPECT_GT(count, 0u);
  EXPECT_EQ(behind[0], limits::kStepsInFlightMax - 1);
  EXPECT_EQ(behind[1], limits::kStepsInFlightSync - 1);
}

// Each error that ends a job comes up, and so does a job that ends well although its core was stopped for a
// while.
TEST(Simulate, SeedsReachEachPromisedEnd) {
  std::map<std::string, std::uint64_t> ends = {{"closed its connection; lost key ranges", 0},
                                               {"was silent too long; lost key ranges", 0},
                                               {"was ended by signal 9; lost key ranges", 0},
                                               {"was ended by signal 9; no worker is left", 0},
                                               {"no worker is left", 0},
                                               {"without progress", 0},
                                               {"the scheduler was killed", 0}};
  std::uint64_t paused_and_well = 0, other_clocks_and_well = 0;
  for (std::uint64_t seed = 1; seed <= 1500; ++seed) {
    const Plan plan = draw_plan(seed);
    if (plan.spares_core && plan.core_faults.empty()) continue;
    const Report report = run_plan(plan);
    ASSERT_TRUE(report.ok()) << "seed " << seed << ": " << report.violation;
    paused_and_well += report.ended_well && !plan.core_faults.empty();
    other_clocks_and_well += report.ended_well && plan.clock_rate_off > 0.1;
    for (auto& [text, count] : ends) count += report.error.find(text) != std::string::npos;
  }
  for (const auto& [text, count] : ends) EXPECT_GT(count, 0u) << text;
  EXPECT_GT(paused_and_well, 50u);
  EXPECT_GT(other_clocks_and_well, 20u);
}

// What a flip leaves is refused, and a connection that ends so loses what is under way on it, both ways.
TEST(Network, RefusesEveryDamagedFrame) {
  Plan plan;
  plan.frame_faults.flip = 1;
  Findings findings;
  Network network(plan, findings);
  Frame frame;
  frame.head.op = Op::kPush;
  frame.head.ranges = {3, 8};
  frame.first = Bytes::of(std::vector<std::uint64_t>{1, 2, 3});
  frame.second = Bytes::of(std::vector<float>{1, 2, 3});
  for (int i = 0; i < 20000; ++i) {
    std::vector<Network::Arrival> arrivals;
    EXPECT_EQ(network.send(Instant{0}, {1, 2}, Frame(frame), false, arrivals), Fate::kFlipped);
    ASSERT_EQ(arrivals.size(), 1u);
    ASSERT_NE(arrivals[0].damaged, encode_frame(frame));
    EXPECT_FALSE(network.read_damaged(arrivals[0].damaged));
  }
  EXPECT_TRUE(findings.none()) << findings.first();
  EXPECT_TRUE(network.read_damaged(encode_frame(frame)));
  EXPECT_TRUE(found_by(Checker::kDamage, findings.first())) << findings.first();
  const std::uint32_t before = network.connection({1, 2});
  network.close(Instant{0}, {2, 1});
  EXPECT_EQ(network.connection({1, 2}), before + 1);
}

TEST(NodeClock, ShowsEveryMomentOfTheWorldAndBack) {
  Random random(3);
  for (int i = 0; i < 10000; ++i) {
    const NodeClock clock(Duration(std::chrono::hours(random.below(87600))), 0.8 + 0.4 * random.unit());
    const Instant world{static_cast<std::int64_t>(random.below(200'000'000'000))};
    const Instant local = clock.local(world);
    EXPECT_LE(clock.world(local), world);
    EXPECT_GE(clock.local(clock.world(local)), local);
    EXPECT_LT(clock.local(Instant{clock.world(local).ns - 1}), local);
    EXPECT_EQ(clock.world(kNever), kNever);
  }
}

TEST(Plan, SeedsOfOldKeepTheirPlans) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const Plan now = draw_plan(seed), old = draw_mild_plan(seed);
    EXPECT_EQ(now.steps, old.steps);
    EXPECT_EQ(now.frame_faults.drop, old.frame_faults.drop);
    EXPECT_EQ(now.node_faults.until, old.node_faults.until);
    EXPECT_TRUE(old.spares_core && old.core_faults.empty() && old.clock_begin_max == Duration{});
  }
}

}  // namespace
}  // namespace thalweg::sim
