#include "sim/shrink/shrink.h"

#include <gtest/gtest.h>

#include "sim/cluster/simulate.h"
#include "sim/shrink/cluster_parts.h"
#include "sim/shrink/shrink_for_test.h"

namespace thalweg::sim {
namespace {

TEST(Shrink, ReductionsReadAsTheyAreWritten) {
  const Reductions some = {{"drop", 0}, {"fault.1", 0}, {"workers", 2}};
  EXPECT_EQ(to_text(some), "drop,fault.1,workers=2");
  const auto parsed = parse_reductions(to_text(some));
  ASSERT_TRUE(parsed) << parsed.status().message();
  EXPECT_EQ(*parsed, some);
  for (const char* wrong : {"drop,drop", "workers=", "workers=x", "=2", "drop,,late", "workers=-1"})
    EXPECT_EQ(parse_reductions(wrong).status().code(), Code::kUsage) << wrong;
}

TEST(Shrink, WhatAPlanDoesNotHaveIsRefused) {
  Plan plan = draw_copied_plan(3);
  for (const char* wrong : {"nothing", "fault.99", "workers=99", "servers"}) {
    const Status status = reduce(plan, *parse_reductions(wrong));
    EXPECT_EQ(status.code(), Code::kUsage) << wrong;
    EXPECT_NE(status.message().find("this seed's cluster"), std::string::npos) << status.message();
  }
}

// Parts of many plans are left out one after the other, and what is left is a cluster that works.
TEST(Shrink, SmallerClustersKeepTheirPromises) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    const Servers servers[] = {Servers::kAny, Servers::kCopied, Servers::kJoined, Servers::kTakenUp};
    const Plan plan = plan_of(seed, servers[seed / 2 % std::size(servers)]);
    const auto run = [](const Plan& smaller) { return run_plan(smaller); };
    const auto least = least_that_holds(plan, run, 60);
    if (!least) continue;
    EXPECT_EQ(least->workers, 1u);
    EXPECT_EQ(least->shards, 1u);
    EXPECT_EQ(least->epochs(), 1u);
    EXPECT_FALSE(least->node_faults.any());
    EXPECT_EQ(least->core_faults.size(), 0u);
  }
}

TEST(Shrink, EndsWhenItIsToldTo) {
  const Plan plan = draw_plan(5);
  Report failed;
  failed.violation = "[ends] made up";
  int left = 3;
  const auto run = [&](const Plan&) { return Report(); };
  const Shrunk shrunk = shrink(plan, failed, run, [&] { return left-- > 0; });
  EXPECT_EQ(shrunk.tries, 3u);
  EXPECT_FALSE(shrunk.whole);
  EXPECT_TRUE(shrunk.reductions.empty());
}

}  // namespace
}  // namespace thalweg::sim
