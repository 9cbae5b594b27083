#include "staleness/range_vector_clock.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "base/random.h"

namespace thalweg {
namespace {

constexpr std::uint32_t kNodes = 4;
constexpr Key kKeys = 60;

struct PushMessage {
  std::uint32_t node = 0;
  KeyInterval keys;
  std::uint64_t time = 0;
};

using Oracle = std::array<std::array<std::uint64_t, kKeys>, kNodes>;

void see_each(Oracle& oracle, const PushMessage& push) {
  for (Key key = push.keys.begin; key < push.keys.end; ++key) {
    std::uint64_t& time = oracle[push.node][key];
    time = std::max(time, push.time);
  }
}

// Random pushes of k ranges by each node, out of order, as a network brings them.
std::vector<PushMessage> random_pushes(Random& random, std::uint32_t ranges) {
  std::vector<PushMessage> pushes;
  for (std::uint32_t node = 0; node < kNodes; ++node) {
    std::vector<KeyInterval> own;
    while (own.size() < ranges) {
      const Key begin = random.below(kKeys - 1);
      own.push_back({begin, begin + 1 + random.below(kKeys - begin)});
    }
    for (std::uint64_t time = 1; time <= 3u * ranges; ++time)
      pushes.push_back({node, own[random.below(own.size())], time});
  }
  for (std::size_t i = pushes.size(); i > 1; --i) std::swap(pushes[i - 1], pushes[random.below(i)]);
  return pushes;
}

void expect_same(const RangeVectorClock& clock, const Oracle& oracle) {
  for (std::uint32_t node = 0; node < kNodes; ++node) {
    for (Key key = 0; key < kKeys; ++key) ASSERT_EQ(clock.at(node, key), oracle[node][key]) << key;
  }
}

TEST(RangeVectorClock, EqualsAClockOfEachKeyWithFewEntries) {
  Random random(26);
  std::size_t most = 0;
  for (std::uint32_t round = 0; round < 300; ++round) {
    const auto ranges = static_cast<std::uint32_t>(1 + random.below(8));
    RangeVectorClock clock;
    Oracle oracle{};
    for (const PushMessage& push : random_pushes(random, ranges)) {
      clock.see(push.node, push.keys, push.time);
      see_each(oracle, push);
      ASSERT_LE(clock.entries(), kNodes * (2u * ranges + 1));
    }
    ASSERT_NO_FATAL_FAILURE(expect_same(clock, oracle));
    most = std::max(most, clock.entries());
  }
  EXPECT_GT(most, kNodes * 5u);  // The bound has been tried with more than a few ranges.
}

TEST(RangeVectorClock, WhatComesTwiceChangesNothing) {
  Random random(27);
  for (int round = 0; round < 100; ++round) {
    RangeVectorClock once, twice;
    for (const PushMessage& push : random_pushes(random, 5)) {
      once.see(push.node, push.keys, push.time);
      twice.see(push.node, push.keys, push.time);
      const RangeVectorClock before = twice;
      EXPECT_FALSE(twice.see(push.node, push.keys, push.time));
      ASSERT_EQ(twice, before);
    }
    ASSERT_EQ(once, twice);
  }
}

TEST(RangeVectorClock, TellsWhatIsNew) {
  RangeVectorClock clock;
  EXPECT_TRUE(clock.see(1, {10, 20}, 3));
  EXPECT_FALSE(clock.see(1, {12, 15}, 3));
  EXPECT_TRUE(clock.see(1, {15, 25}, 3));  // Of 20 to 25.
  EXPECT_EQ(clock.entries(), 2u);          // From 10, and from 25 on nothing.
  EXPECT_EQ(clock.oldest(1, {10, 25}), 3u);
  EXPECT_EQ(clock.oldest(1, {10, 26}), 0u);
  EXPECT_EQ(clock.oldest(2, {10, 25}), 0u);
  EXPECT_FALSE(clock.see(1, {7, 7}, 9));
}

TEST(RangeVectorClock, MergesToWhatEitherHasSeen) {
  Random random(28);
  for (int round = 0; round < 100; ++round) {
    RangeVectorClock a, b;
    Oracle both{};
    for (const PushMessage& push : random_pushes(random, 4)) {
      (random.chance(0.5) ? a : b).see(push.node, push.keys, push.time);
      see_each(both, push);
    }
    RangeVectorClock ab = a, ba = b;
    ab.merge(b);
    ba.merge(a);
    ASSERT_EQ(ab, ba);
    ASSERT_NO_FATAL_FAILURE(expect_same(ab, both));
  }
}

}  // namespace
}  // namespace thalweg
