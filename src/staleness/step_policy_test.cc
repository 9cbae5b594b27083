#include "staleness/step_policy.h"

#include <gtest/gtest.h>

#include "base/limits.h"

namespace thalweg {
namespace {

Clocks clocks(std::initializer_list<Step> steps) {
  Clocks made(static_cast<std::uint32_t>(steps.size()));
  std::uint32_t shard = 0;
  for (const Step step : steps) made.advance(ShardId{shard++}, step);
  return made;
}

TEST(StepPolicy, LockstepClosesWhatAllHavePushed) {
  const auto policy = step_policy(Consistency::sync());
  EXPECT_EQ(policy->closed(clocks({{0, 3}, {0, 2}, {1, 0}})), (Step{0, 2}));
  EXPECT_EQ(policy->closed(clocks({kEndOfWork, kEndOfWork})), kEndOfWork);
  EXPECT_TRUE(policy->combines());
  EXPECT_EQ(policy->steps_replayed(), limits::kStepsInFlightSync);
}

TEST(StepPolicy, LockstepTakesNothingFarAheadOfTheSlowest) {
  const auto policy = lockstep();
  const Clocks at = clocks({{1, 10}, {1, 40}});
  constexpr std::uint32_t kWindow = limits::kStepWindow;
  EXPECT_TRUE(policy->takes(at, {0, ~0u}));
  EXPECT_TRUE(policy->takes(at, {1, 10 + kWindow - 1}));
  EXPECT_FALSE(policy->takes(at, {1, 10 + kWindow}));
  EXPECT_TRUE(policy->takes(at, {2, kWindow - 1}));
  EXPECT_FALSE(policy->takes(at, {2, kWindow}));
  EXPECT_FALSE(policy->takes(at, {3, 0}));
}

TEST(StepPolicy, OthersApplyWhatComesAsItComes) {
  for (const Consistency mode : {Consistency::bounded(2), Consistency::async()}) {
    const auto policy = step_policy(mode);
    EXPECT_EQ(policy->closed(clocks({{0, 0}})), kEndOfWork);
    EXPECT_TRUE(policy->takes(clocks({{0, 0}}), {7, 7}));
    EXPECT_FALSE(policy->combines());
    EXPECT_EQ(policy->steps_replayed(), 0u);
  }
}

TEST(StepPolicy, SoftsyncDividesTheShardsAndEndsWhatAPassLeaves) {
  for (const auto& [n, pushes] : {std::pair{1u, 30u}, {2u, 15u}, {7u, 4u}, {15u, 2u}, {30u, 1u}, {31u, 1u}})
    EXPECT_EQ(step_policy(Consistency::softsync(n))->pushes_an_update(30), pushes) << n;
  const auto policy = softsync(2);
  EXPECT_EQ(policy->closed(clocks({{0, 9}, {1, 3}})), (Step{0, 0}));
  EXPECT_EQ(policy->closed(clocks({{1, 0}, {1, 3}})), (Step{1, 0}));
  EXPECT_EQ(policy->closed(clocks({kEndOfWork, kEndOfWork})), kEndOfWork);
  EXPECT_TRUE(policy->takes(clocks({{0, 0}}), {7, 7}));
  EXPECT_TRUE(policy->lets_read({0, 0}, {9, 9}));
  EXPECT_TRUE(policy->combines());
  EXPECT_TRUE(policy->waits_for_own());
  EXPECT_FALSE(free_softsync(2)->waits_for_own());
  for (const Consistency mode : {Consistency::sync(), Consistency::bounded(2), Consistency::async()})
    EXPECT_EQ(step_policy(mode)->pushes_an_update(30), 0u);
}

TEST(StepPolicy, BackupClosesWithoutTheSlowest) {
  const Clocks at = clocks({{0, 3}, {1, 2}, {0, 7}, {0, 5}});
  for (const auto& [late, closed] :
       {std::pair{0u, Step{0, 3}}, {1u, {0, 5}}, {2u, {0, 7}}, {3u, {1, 2}}, {9u, {1, 2}}}) {
    const auto policy = step_policy(Consistency::backup(late));
    EXPECT_EQ(policy->closed(at), closed) << late;
    EXPECT_EQ(policy->awaited(at), closed) << late;
  }
  const auto policy = backup(1);
  EXPECT_TRUE(policy->drops_late());
  EXPECT_FALSE(policy->lets_read({0, 4}, {0, 5}));
  EXPECT_TRUE(policy->takes(at, {0, 0}));
  EXPECT_TRUE(policy->takes(at, {0, 5 + limits::kStepWindow - 1}));
  EXPECT_FALSE(policy->takes(at, {0, 5 + limits::kStepWindow}));
  EXPECT_TRUE(policy->takes(at, {1, 3}));
  EXPECT_FALSE(policy->takes(at, {2, 0}));
  EXPECT_FALSE(lockstep()->drops_late());
}

TEST(StepPolicy, ReadersLeadByTheBoundAndNoMore) {
  EXPECT_FALSE(lockstep()->lets_read({0, 4}, {0, 5}));
  EXPECT_TRUE(lockstep()->lets_read({0, 5}, {0, 5}));
  EXPECT_TRUE(bounded(2)->lets_read({0, 3}, {0, 5}));
  EXPECT_FALSE(bounded(2)->lets_read({0, 2}, {0, 5}));
  EXPECT_FALSE(bounded(2)->lets_read({0, 9}, {1, 0}));
  EXPECT_TRUE(immediate()->lets_read({0, 0}, {9, 9}));
}

}  // namespace
}  // namespace thalweg
