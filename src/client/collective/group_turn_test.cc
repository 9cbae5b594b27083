#include "client/collective/group_turn.h"

#include <gtest/gtest.h>

#include <vector>

namespace thalweg {
namespace {

using Wish = RankProgress::Wish;
constexpr Step kFirst{0, 0}, kSecond{0, 1}, kNextEpoch{1, 0};
constexpr BarrierId kOneBarrier{1, 0}, kOther{0, 1};

std::vector<bool> done(const std::vector<RankProgress>& progress) {
  std::vector<bool> out;
  for (std::uint32_t r = 0; r < progress.size(); ++r) out.push_back(decide_turn(progress, r).done);
  return out;
}

TEST(GroupTurn, AppliesAStepWhenAllThatAreInItAdvance) {
  const std::vector<RankProgress> progress{{Wish::kAdvance, kFirst, {}}, {Wish::kAdvance, kFirst, {}}};
  EXPECT_TRUE(decide_turn(progress, 0).applies);
  EXPECT_EQ(decide_turn(progress, 1).lowest_after, kSecond);
  EXPECT_EQ(done(progress), (std::vector<bool>{true, true}));
}

TEST(GroupTurn, ARankThatIsFurtherWaits) {
  // Rank 1 has ended its epoch; rank 2 its work.
  const std::vector<RankProgress> progress{
      {Wish::kAdvance, kSecond, {}}, {Wish::kSee, kNextEpoch, {}}, {Wish::kSee, kEndOfWork, {}}};
  EXPECT_TRUE(decide_turn(progress, 0).applies);
  EXPECT_EQ(decide_turn(progress, 0).lowest, kSecond);
  EXPECT_EQ(done(progress), (std::vector<bool>{true, false, false}));
  const std::vector<RankProgress> later{
      {Wish::kAdvance, kNextEpoch, {}}, {Wish::kSee, kNextEpoch, {}}, {Wish::kSee, kEndOfWork, {}}};
  EXPECT_FALSE(decide_turn(later, 0).applies);
  EXPECT_EQ(done(later), (std::vector<bool>{false, true, false}));
}

TEST(GroupTurn, OpensABarrierOnceAllThatWorkAreThere) {
  std::vector<RankProgress> progress{
      {Wish::kBarrier, kFirst, kOneBarrier}, {Wish::kAdvance, kFirst, {}}, {Wish::kSee, kEndOfWork, {}}};
  EXPECT_EQ(decide_turn(progress, 0).status.code(), Code::kUsage);
  progress[1] = {Wish::kBarrier, kSecond, kOneBarrier};
  EXPECT_EQ(done(progress), (std::vector<bool>{true, true, false}));
  progress[1].barrier = kOther;
  const GroupTurn turn = decide_turn(progress, 0);
  EXPECT_EQ(turn.status.code(), Code::kUsage);
  EXPECT_NE(turn.status.message().find("rank 1 in step 0.1 is at barrier 0.1"), std::string::npos)
      << turn.status.message();
}

TEST(GroupTurn, SaysWhoHasFailed) {
  const std::vector<RankProgress> progress{{Wish::kAdvance, kFirst, {}}, {Wish::kFailed, kFirst, {}}};
  EXPECT_EQ(decide_turn(progress, 0).status, (Status{Code::kAborted, "rank 1 has failed"}));
}

TEST(RankProgress, ComesBackFromItsWords) {
  const RankProgress rank{Wish::kBarrier, kEndOfWork, {7, 9}};
  std::uint64_t words[RankProgress::kWords];
  rank.write(words);
  EXPECT_EQ(RankProgress::read(words), rank);
}

}  // namespace
}  // namespace thalweg
