#include "staleness/marks.h"

#include <gtest/gtest.h>

namespace thalweg {
namespace {

TEST(Mark, KnowsRepeatsInAnyOrderOfArrival) {
  Mark mark;
  EXPECT_EQ(mark.classify({0, 2}), Arrival::kNew);
  mark.record({0, 2}, LastOf::kNothing);
  EXPECT_EQ(mark.classify({0, 2}), Arrival::kRepeat);
  EXPECT_EQ(mark.low(), (Step{0, 0}));
  mark.record({0, 0}, LastOf::kNothing);
  mark.record({0, 1}, LastOf::kNothing);
  EXPECT_EQ(mark.low(), (Step{0, 3}));
  EXPECT_EQ(mark.classify({0, 1}), Arrival::kRepeat);
  EXPECT_EQ(mark.classify({0, 3 + limits::kStepWindow}), Arrival::kTooEarly);
  EXPECT_EQ(mark.classify({0, 2 + limits::kStepWindow}), Arrival::kNew);
}

TEST(Mark, EntersTheNextEpochWhenTheLastGapCloses) {
  Mark mark;
  mark.record({0, 1}, LastOf::kEpoch);
  EXPECT_EQ(mark.classify({1, 0}), Arrival::kTooEarly);
  mark.record({0, 0}, LastOf::kNothing);
  EXPECT_EQ(mark.low(), (Step{1, 0}));
  EXPECT_EQ(mark.classify({0, 1}), Arrival::kRepeat);
}

TEST(Mark, EndsForGoodWhenTheLastGapCloses) {
  Mark mark;
  mark.record({0, 1}, LastOf::kWork);
  EXPECT_EQ(mark.low(), (Step{0, 0}));
  mark.record({0, 0}, LastOf::kNothing);
  EXPECT_EQ(mark.low(), kEndOfWork);
  EXPECT_EQ(mark.classify({0, 1}), Arrival::kRepeat);
  EXPECT_EQ(mark.classify({7, 0}), Arrival::kRepeat);
}

}  // namespace
}  // namespace thalweg
