#include "base/range_set.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/random.h"

namespace thalweg {
namespace {

constexpr std::uint16_t kRanges = 24;

RangeSpan draw_span(Random& random) {
  const auto begin = static_cast<std::uint16_t>(random.below(kRanges));
  return {begin, static_cast<std::uint16_t>(begin + random.below(kRanges - begin + 1u))};
}

void expect_equal(const RangeSet& set, const std::vector<bool>& oracle) {
  std::size_t size = 0;
  for (std::uint16_t range = 0; range < kRanges; ++range) {
    ASSERT_EQ(set.contains(RangeId{range}), oracle[range]) << range << " of " << text_of(set);
    size += oracle[range] ? 1 : 0;
  }
  ASSERT_EQ(set.size(), size);
  ASSERT_EQ(set.empty(), size == 0);
  for (std::size_t i = 0; i < set.runs().size(); ++i) {
    ASSERT_LT(set.runs()[i].begin, set.runs()[i].end);
    ASSERT_TRUE(i == 0 || set.runs()[i - 1].end < set.runs()[i].begin) << text_of(set);
  }
}

TEST(RangeSet, FollowsAVectorOfBits) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Random random(seed);
    RangeSet set;
    std::vector<bool> oracle(kRanges);
    for (int step = 0; step < 30; ++step) {
      const RangeSpan span = draw_span(random);
      const bool adds = random.chance(0.6);
      adds ? set.add(span) : set.remove(span);
      for (std::uint16_t range = span.begin; range < span.end; ++range) oracle[range] = adds;
      ASSERT_NO_FATAL_FAILURE(expect_equal(set, oracle)) << "seed " << seed;
      const RangeSpan asked = draw_span(random);
      bool all = asked.size() > 0, some = false;
      for (std::uint16_t range = asked.begin; range < asked.end; ++range) {
        all = all && oracle[range];
        some = some || oracle[range];
      }
      ASSERT_EQ(set.contains(asked), all);
      ASSERT_EQ(set.intersects(asked), some);
      std::vector<bool> both(kRanges);
      for (std::uint16_t range = asked.begin; range < asked.end; ++range) both[range] = oracle[range];
      ASSERT_NO_FATAL_FAILURE(expect_equal(set.in(asked), both)) << "seed " << seed;
    }
  }
}

TEST(RangeSet, IsSubtractedAndSaidInRuns) {
  RangeSet set(0, 10);
  EXPECT_EQ(text_of(set), "[0,10)");
  RangeSet other(2, 4);
  other.add({7, 12});
  EXPECT_EQ(text_of(set - other), "[0,2) [4,7)");
  EXPECT_EQ(text_of(other - set), "[10,12)");
  EXPECT_EQ(text_of(set - set), "no ranges");
  EXPECT_TRUE(RangeSet(RangeSpan{5, 3}).empty());
}

}  // namespace
}  // namespace thalweg
