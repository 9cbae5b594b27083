#include "exchange/plan/plan_steps.h"

#include <gtest/gtest.h>

#include <string>

#include "exchange/costs/measured_routes.h"

namespace thalweg {
namespace {

constexpr std::uint64_t kVector = 1 << 16;

std::vector<std::vector<LaneSteps>> steps_by(const std::string& name, Operation operation,
                                             std::uint32_t ranks, std::uint64_t piece_elements = 0) {
  auto plan = measured_plan(name, {false, ranks, operation, kVector * sizeof(float)});
  EXPECT_TRUE(plan.ok()) << plan.status().message();
  plan->piece_elements = piece_elements;
  return steps_of(*plan, operation, kVector, ranks);
}

TEST(PlanSteps, ManyNamesAreOneExchangeBetweenTwo) {
  for (const std::string name : {"ring", "rings", "halving-doubling"})
    EXPECT_EQ(steps_by(name, Operation::kReduceScatter, 2), steps_by("spread", Operation::kReduceScatter, 2))
        << name;
  for (const std::string name : {"chain", "binomial-tree", "tree:2"})
    EXPECT_EQ(steps_by(name, Operation::kBroadcast, 2), steps_by("star", Operation::kBroadcast, 2)) << name;
  EXPECT_NE(steps_by("bidirectional-ring", Operation::kReduceScatter, 2),
            steps_by("ring", Operation::kReduceScatter, 2));
  EXPECT_NE(steps_by("recursive-doubling", Operation::kAllReduce, 2),
            steps_by("star", Operation::kAllReduce, 2));
}

TEST(PlanSteps, DifferAmongMore) {
  EXPECT_NE(steps_by("ring", Operation::kReduceScatter, 4), steps_by("spread", Operation::kReduceScatter, 4));
  EXPECT_NE(steps_by("binomial-tree", Operation::kBroadcast, 4),
            steps_by("tree:2", Operation::kBroadcast, 4));
  EXPECT_EQ(steps_by("recursive-doubling", Operation::kAllGather, 4),
            steps_by("halving-doubling", Operation::kAllGather, 4));
}

TEST(PlanSteps, PiecesCountWhereTheyCutABlock) {
  EXPECT_NE(steps_by("ring", Operation::kAllReduce, 2, kVector / 4),
            steps_by("ring", Operation::kAllReduce, 2));
  EXPECT_EQ(steps_by("ring", Operation::kAllReduce, 2, kVector / 2),
            steps_by("ring", Operation::kAllReduce, 2));
}

}  // namespace
}  // namespace thalweg
