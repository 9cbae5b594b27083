#include "exchange/plan/plan.h"

#include <gtest/gtest.h>

#include <set>
#include <utility>

namespace thalweg {
namespace {

TEST(Plan, NamesAreReadAsTheyAreWritten) {
  for (const char* name : {"star", "servers:3", "tree:8", "rings", "rings:3", "hierarchical",
                           "hierarchical:4x2", "hierarchical:2x3x5", "hierarchical:4tx2h",
                           "hierarchical:8x4tx2d", "hierarchical:3+5tx2h", "hierarchical:4x1+2x2"}) {
    const auto plan = parse_route(name);
    ASSERT_TRUE(plan) << plan.status().message();
    EXPECT_EQ(plan->name(), name);
  }
  EXPECT_EQ(parse_route("hierarchical:4x2")->levels, (PlanLevels{4, 2}));
  EXPECT_EQ(parse_route("hierarchical:4rx2r")->name(), "hierarchical:4x2");
  EXPECT_EQ(parse_route("hierarchical:8tx4x2hx2d")->levels,
            (PlanLevels{{8, LevelWay::kTree}, 4, {2, LevelWay::kHalving}, {2, LevelWay::kDoubling}}));
  for (const char* name :
       {"rings:0", "rings:x", "ring:2", "hierarchical:", "hierarchical:4x", "hierarchical:x2",
        "hierarchical:4x0", "hierarchical:4y2", "hierarchical:4097", "hierarchical:4ttx2", "hierarchical:tx2",
        "hierarchical:4qx2", "hierarchical:3+x2", "hierarchical:3t+5x2", "hierarchical:3+0x2"}) {
    EXPECT_EQ(parse_route(name).status().code(), Code::kUsage) << name;
  }
}

TEST(Plan, RingsByStrideUseNoCableTwiceTheSameWay) {
  for (const std::uint32_t ranks : {2u, 3u, 4u, 5u, 9u, 12u}) {
    for (std::uint32_t count = 1;; ++count) {
      Plan plan;
      plan.route = &routes::kRings;
      const auto rings = rings_by_stride(ranks, count);
      if (!rings) {
        EXPECT_GT(count, ranks == 2 ? 1u : 2u);  // One way and back there is always.
        EXPECT_NE(rings.status().message().find("expected at most as many"), std::string::npos);
        break;
      }
      plan.rings = *rings;
      ASSERT_EQ(plan.rings.size(), count);
      EXPECT_TRUE(check_plan(plan, Operation::kAllReduce, ranks).ok());
      std::set<std::pair<std::uint32_t, std::uint32_t>> used;
      for (const Ring& ring : plan.rings) {
        for (std::uint32_t i = 0; i < ranks; ++i) {
          EXPECT_TRUE(used.emplace(ring.order[i], ring.order[(i + 1) % ranks]).second);
        }
      }
    }
    EXPECT_EQ(rings_by_stride(ranks, 0)->size(), ranks == 2 ? 1u : 2u);
  }
}

}  // namespace
}  // namespace thalweg
