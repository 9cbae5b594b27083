#include "staleness/vector_clock.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "base/random.h"

namespace thalweg {
namespace {

constexpr VectorClock::Actor kSx = 1, kSy = 2, kSz = 3;

// Dynamo's figure 3: Sx writes twice, Sy and Sz each go on from there, Sx reconciles.
TEST(VectorClock, DynamosExample) {
  VectorClock d2;
  d2.tick(kSx);
  d2.tick(kSx);
  VectorClock d3 = d2, d4 = d2;
  d3.tick(kSy);
  d4.tick(kSz);
  EXPECT_EQ(compare(d2, d3), ClockOrder::kBefore);
  EXPECT_EQ(compare(d4, d2), ClockOrder::kAfter);
  EXPECT_EQ(compare(d3, d4), ClockOrder::kConcurrent);
  VectorClock d5 = d3;
  d5.merge(d4);
  EXPECT_EQ(d5.tick(kSx), 3u);
  EXPECT_EQ(d5, VectorClock({{kSx, 3}, {kSy, 1}, {kSz, 1}}));
  EXPECT_EQ(compare(d3, d5), ClockOrder::kBefore);
  EXPECT_EQ(compare(d4, d5), ClockOrder::kBefore);
}

TEST(VectorClock, SeenIsNeverUnseen) {
  VectorClock clock;
  clock.see(kSx, 0);
  EXPECT_EQ(clock, VectorClock());
  clock.see(kSx, 4);
  clock.see(kSx, 2);
  EXPECT_EQ(clock.at(kSx), 4u);
  EXPECT_EQ(clock.at(kSy), 0u);
  EXPECT_EQ(compare(clock, clock), ClockOrder::kSame);
}

// Against sets of events: clocks that merge and tick at random compare as the sets of what they saw do.
TEST(VectorClock, ComparesAsSetsOfEventsDo) {
  using Event = std::pair<VectorClock::Actor, std::uint64_t>;
  Random random(35);
  for (int round = 0; round < 200; ++round) {
    struct Holder {
      VectorClock clock;
      std::set<Event> events;
    };
    std::vector<Holder> holders(4);
    for (int step = 0; step < 12; ++step) {
      const auto actor = random.below(holders.size());
      Holder& one = holders[actor];
      if (random.chance(0.5)) {
        one.events.insert({actor, one.clock.tick(actor)});
      } else {
        const Holder& other = holders[random.below(holders.size())];
        one.clock.merge(VectorClock(other.clock));
        one.events.insert(other.events.begin(), other.events.end());
      }
    }
    for (const Holder& a : holders) {
      for (const Holder& b : holders) {
        const bool a_in_b = std::ranges::includes(b.events, a.events);
        const bool b_in_a = std::ranges::includes(a.events, b.events);
        const ClockOrder expected = a_in_b   ? (b_in_a ? ClockOrder::kSame : ClockOrder::kBefore)
                                    : b_in_a ? ClockOrder::kAfter
                                             : ClockOrder::kConcurrent;
        ASSERT_EQ(compare(a.clock, b.clock), expected);
        ASSERT_EQ(a.clock.covers(b.clock), b_in_a);
      }
    }
  }
}

}  // namespace
}  // namespace thalweg
