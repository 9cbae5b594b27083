#include "staleness/reached.h"

#include <gtest/gtest.h>

#include <vector>

namespace thalweg {
namespace {

// A server tells of pushes alone: an heir starts where the slowest has everything, and nobody may repeat what
// any knows.
TEST(Reached, OfSeveralServersStartsWithTheSlowestAndReachesAsFarAsAny) {
  Reached all;
  all.add({{0, 5}, {0, 9}, false});
  EXPECT_EQ(all, (Reached{{0, 5}, {0, 9}, false}));
  all.add({{0, 3}, {0, 7}, true});
  EXPECT_EQ(all, (Reached{{0, 3}, {0, 9}, false})) << "an end before what is known since";
  all.add({{0, 8}, {1, 2}, true});
  EXPECT_EQ(all, (Reached{{0, 3}, {1, 2}, true}));
  all.add({{1, 0}, {1, 2}, false});
  EXPECT_EQ(all, (Reached{{0, 3}, {1, 2}, true})) << "an end that another server has yet to learn of";
  all.add({{1, 0}, {1, 1}, false});
  EXPECT_EQ(all, (Reached{{0, 3}, {1, 2}, true}));
  all.add({{1, 0}, {1, 4}, false});
  EXPECT_EQ(all, (Reached{{0, 3}, {1, 4}, false}));
}

TEST(Reached, OfAllShardsTellsAtTheEndOfWhichPassTheyMeetNext) {
  EXPECT_EQ(first_open_pass({}), 0u);
  const Reached in_pass{{1, 3}, {1, 5}, false}, at_end{{2, 0}, {1, 9}, true}, ahead{{2, 0}, {2, 2}, false};
  EXPECT_EQ(first_open_pass(std::vector{in_pass, at_end}), 1u);
  EXPECT_EQ(first_open_pass(std::vector{in_pass, ahead}), 1u) << "another server was asked later";
  EXPECT_EQ(first_open_pass(std::vector{at_end, at_end}), 1u) << "all may be about to meet";
  EXPECT_EQ(first_open_pass(std::vector{at_end, ahead}), 2u) << "they have met";
}

TEST(Reached, WhereAllGoOnWithTheFirstStepOfAPassTheyMeetBehindTheOneBefore) {
  EXPECT_EQ(open_pass_of({0, 0}), 0u);
  EXPECT_EQ(open_pass_of({2, 3}), 2u);
  EXPECT_EQ(open_pass_of({2, 0}), 1u);
}

}  // namespace
}  // namespace thalweg
