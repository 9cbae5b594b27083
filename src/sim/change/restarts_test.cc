// Jobs that die as a whole and go on, in every mode.
#include <gtest/gtest.h>

#include <map>

#include "base/cases_for_test.h"
#include "sim/change/restarts.h"
#include "sim/change/restarts_parts.h"
#include "sim/shrink/shrink_for_test.h"

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

TEST(Restarts, SmallerJobsKeepTheirPromises) {
  for (std::uint64_t seed = 1; seed <= 16; seed += kEveryForTest) {
    const RestartsPlan plan = draw_restarts_plan(seed);
    const auto run = [](const RestartsPlan& smaller) { return run_restarts(smaller); };
    const auto least = least_that_holds(plan, run, 60);
    if (!least) continue;
    EXPECT_EQ(least->lives.size(), 1u);
    EXPECT_EQ(least->shards, 1u);
    EXPECT_EQ(least->lives[0].cluster.servers, 1u);
    EXPECT_EQ(least->lives[0].cluster.workers, 1u);
  }
}

TEST(Restarts, WhatAJobDoesNotHaveIsRefused) {
  RestartsPlan plan = draw_restarts_plan(3);
  for (const char* wrong : {"life.5", "life.0,life.1,life.2,life.3,life.4", "epochs=1", "workers=99"}) {
    const Status status = reduce(plan, *parse_reductions(wrong));
    EXPECT_EQ(status.code(), Code::kUsage) << wrong;
    EXPECT_NE(status.message().find("this seed's job"), std::string::npos) << status.message();
    plan = draw_restarts_plan(3);
  }
}

// Two servers were asked a pass apart: some shards had left an end that others had yet to come to again.
TEST(Restarts, SeedsOfOld) {
  for (const std::uint64_t seed : {std::uint64_t{3332}}) {
    const Report report = run_seed_twice(seed, nullptr, Servers::kRestarted);
    EXPECT_TRUE(report.ok()) << "seed " << seed << ": " << report.violation;
  }
}

// Entries that come in another order than they were sent are sent again, every 5 s at last, while a
// checkpoint is taken every 10 ms: three million events are not the end of such a life.
TEST(Restarts, ALifeOfManyCheckpointsComesToItsEnd) {
  if (kEveryForTest > 1) return;  // It takes a minute there, and has nothing that a sanitizer would see.
  const Report report = run_restarts(draw_restarts_plan(86220832));
  EXPECT_TRUE(report.ok()) << report.violation;
  EXPECT_GT(report.events, 3'000'000u);
}

}  // namespace
}  // namespace thalweg::sim
