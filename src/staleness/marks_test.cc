#include "staleness/marks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "base/random.h"

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

TEST(Mark, TakesNothingAfterTheEndOfWork) {
  Mark mark;
  mark.record({0, 0}, LastOf::kWork);
  for (const Step step : {Step{0, 1}, Step{1, 0}, Step{~0u, 0}, Step{~0u, 3}, Step{~0u, ~0u}}) {
    EXPECT_EQ(mark.classify(step), Arrival::kRepeat);
  }
}

TEST(Mark, KnowsWhatContradictsTheEnd) {
  Mark mark;
  mark.record({0, 3}, LastOf::kEpoch);
  EXPECT_TRUE(mark.contradicts({0, 4}, LastOf::kNothing));
  EXPECT_TRUE(mark.contradicts({0, 1}, LastOf::kEpoch));
  EXPECT_FALSE(mark.contradicts({0, 1}, LastOf::kNothing));
  Mark other;
  other.record({0, 5}, LastOf::kNothing);
  EXPECT_TRUE(other.contradicts({0, 4}, LastOf::kWork));
  EXPECT_FALSE(other.contradicts({0, 6}, LastOf::kWork));
}

// The same as a set of all that has arrived.
struct NaiveMark {
  std::set<Step> arrived;
  std::vector<std::uint32_t> lengths;  // Of each epoch; the work ends with the last.
  Step low() const {
    for (std::uint32_t epoch = 0; epoch < lengths.size(); ++epoch) {
      for (std::uint32_t i = 0; i < lengths[epoch]; ++i) {
        if (arrived.count({epoch, i}) == 0) return {epoch, i};
      }
    }
    return kEndOfWork;
  }
  Arrival classify(Step step) const {
    const Step from = low();
    if (step < from || arrived.count(step) != 0) return Arrival::kRepeat;
    const bool near = step.epoch == from.epoch && step.index < from.index + limits::kStepWindow;
    return near ? Arrival::kNew : Arrival::kTooEarly;
  }
};

TEST(Mark, FollowsASetOfAllArrivalsInAnyOrder) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Random random(seed);
    NaiveMark naive;
    for (std::uint64_t e = 0; e <= random.below(4); ++e)
      naive.lengths.push_back(static_cast<std::uint32_t>(1 + random.below(150)));
    const auto epochs = static_cast<std::uint32_t>(naive.lengths.size());
    Mark mark;
    while (mark.low() != kEndOfWork) {
      Step step;
      step.epoch = static_cast<std::uint32_t>(std::min<std::uint64_t>(
          epochs - 1, mark.low().epoch + random.below(2) - (mark.low().epoch > 0 ? random.below(2) : 0)));
      step.index = static_cast<std::uint32_t>(
          random.below(std::min(naive.lengths[step.epoch], mark.low().index + limits::kStepWindow + 8)));
      const Arrival arrival = mark.classify(step);
      ASSERT_EQ(arrival, naive.classify(step))
          << "seed " << seed << " step " << step.epoch << "." << step.index;
      if (arrival != Arrival::kNew) continue;
      LastOf ends = LastOf::kNothing;
      if (step.index + 1 == naive.lengths[step.epoch])
        ends = step.epoch + 1 == epochs ? LastOf::kWork : LastOf::kEpoch;
      ASSERT_FALSE(mark.contradicts(step, ends));
      mark.record(step, ends);
      naive.arrived.insert(step);
      ASSERT_EQ(mark.low(), naive.low()) << "seed " << seed;
    }
  }
}

Bytes encoded(const Mark& mark) {
  Writer out;
  mark.encode(out);
  return out.take();
}

bool reads(Step low, std::uint32_t end, std::uint8_t end_of_work, std::uint64_t seen) {
  Writer out;
  out.put(low.epoch).put(low.index).put(end).put(end_of_work).put(seen);
  const Bytes bytes = out.take();
  Reader in(bytes);
  const Mark mark = Mark::decode(in);
  return in.done() && encoded(mark).text() == bytes.text();
}

TEST(Mark, ReadsBackWhatPushesLeadTo) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Random random(seed);
    Mark mark;
    for (int i = 0; i < 60; ++i) {
      const Step step{mark.low().epoch, mark.low().index + static_cast<std::uint32_t>(random.below(6))};
      const LastOf ends = random.chance(0.9)   ? LastOf::kNothing
                          : random.chance(0.8) ? LastOf::kEpoch
                                               : LastOf::kWork;
      if (mark.classify(step) == Arrival::kNew && !mark.contradicts(step, ends)) mark.record(step, ends);
      const Bytes bytes = encoded(mark);
      Reader in(bytes);
      EXPECT_EQ(Mark::decode(in), mark);
      EXPECT_TRUE(in.done());
    }
  }
}

TEST(Mark, ReadsNothingThatNoPushesLeadTo) {
  constexpr std::uint32_t kNone = ~0u;
  EXPECT_TRUE(reads({1, 5}, kNone, 0, 6));
  EXPECT_TRUE(reads({1, 5}, 7, 1, 2));
  EXPECT_TRUE(reads(kEndOfWork, kNone, 1, 0));
  EXPECT_FALSE(reads({1, 5}, kNone, 0, 1));  // The first step that has not arrived has arrived.
  EXPECT_FALSE(reads({1, 5}, 5, 0, 0));      // The epoch had ended.
  EXPECT_FALSE(reads({1, 5}, 7, 0, 4));      // A step behind the end.
  EXPECT_FALSE(reads({1, 5}, kNone, 1, 0));  // The work ends nowhere.
  EXPECT_FALSE(reads({1, 5}, 7, 2, 0));
  EXPECT_FALSE(reads({~0u, 1}, kNone, 0, 0));  // Behind the end of all work.
  EXPECT_FALSE(reads(kEndOfWork, kNone, 1, 2));
}

}  // namespace
}  // namespace thalweg
