#include "placement/placement.h"

#include <gtest/gtest.h>

#include <set>

#include <algorithm>
#include <vector>

#include "base/limits.h"
#include "base/random.h"

namespace thalweg {
namespace {

TEST(Placement, BeginsWithEveryRangeOnceAndEvenly) {
  for (const int count : {1, 2, 3, 5, 8, 100, 255, 256, 257, 65535}) {
    const auto ranges = static_cast<std::uint16_t>(count);
    for (std::uint32_t servers : {1u, 2u, 3u, 4u, 7u, 16u, 255u, 256u, 300u, 4096u}) {
      const Placement placement = Placement::even(ranges, servers);
      ASSERT_TRUE(Placement::of(placement.runs(), ranges, servers)) << ranges << " over " << servers;
      ASSERT_EQ(placement.runs().size(), std::min<std::uint32_t>(ranges, servers));
      std::size_t least = ~0u, most = 0;
      for (const PlacedRun& run : placement.runs()) {
        least = std::min<std::size_t>(least, run.ranges.size());
        most = std::max<std::size_t>(most, run.ranges.size());
      }
      ASSERT_LE(most - least, 1u) << ranges << " over " << servers;
      const auto ascends = [](const PlacedRun& a, const PlacedRun& b) { return a.chain < b.chain; };
      ASSERT_TRUE(std::ranges::is_sorted(placement.runs(), ascends));
    }
  }
}

// After any moves each range has the owner that it was given last.
TEST(Placement, FollowsAVectorOfOwners) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Random random(seed);
    const auto ranges = static_cast<std::uint16_t>(1 + random.below(30));
    const auto servers = static_cast<std::uint32_t>(2 + random.below(5));
    Placement placement = Placement::even(ranges, servers);
    std::vector<std::vector<std::uint32_t>> oracle(ranges);
    for (std::uint16_t r = 0; r < ranges; ++r) oracle[r] = {placement.owner(RangeId{r})};
    for (int step = 0; step < 20; ++step) {
      const auto begin = static_cast<std::uint16_t>(random.below(ranges));
      const auto end = static_cast<std::uint16_t>(begin + 1 + random.below(ranges - begin));
      const auto first = static_cast<std::uint32_t>(random.below(servers));
      std::vector<std::uint32_t> chain{first};
      if (random.chance(0.3)) chain.push_back((first + 1) % servers);
      placement.move({begin, end}, chain);
      std::fill(oracle.begin() + begin, oracle.begin() + end, chain);
      ASSERT_TRUE(Placement::of(placement.runs(), ranges, servers)) << "seed " << seed;
      for (std::uint16_t r = 0; r < ranges; ++r)
        ASSERT_EQ(placement.owner(RangeId{r}), oracle[r].front()) << "seed " << seed;
      const auto of_one = static_cast<std::uint16_t>(begin + random.below(ranges - begin) + 1);
      const bool all = std::all_of(oracle.begin() + begin, oracle.begin() + of_one,
                                   [&](const auto& each) { return each.front() == oracle[begin].front(); });
      ASSERT_EQ(placement.owner(RangeSpan{begin, of_one}).has_value(), all) << "seed " << seed;
    }
    std::size_t owned = 0;
    for (std::uint32_t server = 0; server < servers; ++server) {
      const RangeSet mine = placement.owned_by(server);
      owned += mine.size();
      for (std::uint16_t r = 0; r < ranges; ++r)
        ASSERT_EQ(mine.contains(RangeId{r}), oracle[r].front() == server);
    }
    ASSERT_EQ(owned, ranges);
  }
}

TEST(Placement, NobodyOwnsWhatTheTableLacks) {
  const Placement placement = Placement::even(8, 2);
  EXPECT_EQ(placement.owner(RangeSpan{0, 4}), 0u);
  EXPECT_EQ(placement.owner(RangeSpan{4, 8}), 1u);
  EXPECT_FALSE(placement.owner(RangeSpan{3, 5}));
  EXPECT_FALSE(placement.owner(RangeSpan{4, 9}));
  EXPECT_FALSE(placement.owner(RangeSpan{4, 4}));
  EXPECT_FALSE(placement.owner(RangeSpan{5, 4}));
  EXPECT_FALSE(Placement().owner(RangeSpan{0, 1}));
}

TEST(Placement, RefusesRunsThatAreNone) {
  const auto refused = [](std::vector<PlacedRun> runs) {
    return !Placement::of(std::move(runs), 8, 3).has_value();
  };
  EXPECT_FALSE(refused({{{0, 5}, {2, 0}}, {{5, 8}, {0}}}));
  EXPECT_TRUE(refused({}));
  EXPECT_TRUE(refused({{{0, 7}, {0}}}));
  EXPECT_TRUE(refused({{{0, 9}, {0}}}));
  EXPECT_TRUE(refused({{{1, 8}, {0}}}));
  EXPECT_TRUE(refused({{{0, 3}, {0}}, {{4, 8}, {1}}}));
  EXPECT_TRUE(refused({{{0, 5}, {0}}, {{4, 8}, {1}}}));
  EXPECT_TRUE(refused({{{0, 4}, {0}}, {{4, 4}, {1}}, {{4, 8}, {0}}}));
  EXPECT_TRUE(refused({{{0, 4}, {0}}, {{4, 8}, {0}}}));  // One run in two.
  EXPECT_TRUE(refused({{{0, 8}, {}}}));
  EXPECT_TRUE(refused({{{0, 8}, {3}}}));
  EXPECT_TRUE(refused({{{0, 8}, {1, 2, 1}}}));
  std::vector<std::uint32_t> longest(limits::kChainMax + 1);
  for (std::uint32_t i = 0; i < longest.size(); ++i) longest[i] = i;
  EXPECT_FALSE(Placement::of({{{0, 8}, longest}}, 8, 100).has_value());
  longest.pop_back();
  EXPECT_TRUE(Placement::of({{{0, 8}, longest}}, 8, 100).has_value());
}

TEST(Placement, WorkersShareTheDataShardsEvenly) {
  std::vector<int> shards(3);
  for (std::uint32_t d = 0; d < 11; ++d) ++shards.at(shard_worker(ShardId{d}, 3));
  EXPECT_EQ(shards, (std::vector<int>{4, 4, 3}));
}

TEST(Placement, SpreadsTheCopiesOfAnOwnerOverAllOthers) {
  const Placement placement = Placement::even(12, 4, 2);
  for (std::uint32_t server = 0; server < 4; ++server) {
    EXPECT_EQ(placement.owned_by(server).size(), 3u);
    EXPECT_EQ(placement.copied_by(server).size(), 3u);
    EXPECT_TRUE(placement.only_on(server).empty());
    std::set<std::uint32_t> after;
    for (const RangeSpan run : placement.copied_of(server)) after.insert(*placement.after(run, server));
    EXPECT_EQ(after.size(), 3u) << server;
  }
  EXPECT_EQ(Placement::even(12, 2, 3).runs()[0].chain, (std::vector<std::uint32_t>{0, 1}))
      << "no more than there are";
}

TEST(Placement, ALostServerIsInNoChainAnyMore) {
  Placement placement = Placement::even(12, 3, 3);
  const RangeSpan run = placement.copied_of(1).front();
  const std::vector<std::uint32_t> chain = placement.runs()[2].chain;
  ASSERT_EQ(chain.front(), 1u);
  EXPECT_EQ(placement.before(run, chain[2]), chain[1]);
  EXPECT_EQ(placement.before(run, 1), std::nullopt);
  EXPECT_EQ(placement.after(run, chain[2]), std::nullopt);
  placement.remove(1);
  EXPECT_FALSE(placement.places(1));
  EXPECT_EQ(placement.owner(RangeId{run.begin}), chain[1]);
  EXPECT_EQ(placement.before(run, chain[2]), chain[1]);
  placement.remove(chain[1]);
  EXPECT_EQ(placement.only_on(chain[2]).size(), 12u);
}

TEST(Placement, AJoinerCountsForNothingUntilItIsInSync) {
  Placement placement = Placement::even(4, 1);
  placement.move({0, 3}, {0, 1}, 7);
  EXPECT_EQ(text_of(placement.only_on(0)), "[0,4)");
  EXPECT_TRUE(placement.copied_by(1).empty());
  EXPECT_TRUE(placement.places(1));
  EXPECT_EQ(placement.after({0, 3}, 0), 1u);
  EXPECT_EQ(placement.joined_by(1), placement.joiners_of(0));
  EXPECT_TRUE(placement.end_join({0, 4}, 1, 6).empty());  // Of an attempt that was given up.
  EXPECT_TRUE(placement.end_join({0, 4}, 0, 7).empty());
  EXPECT_EQ(text_of(placement.end_join({1, 4}, 1, 7)), "[1,3)");
  EXPECT_EQ(text_of(placement.copied_by(1)), "[1,3)");
  EXPECT_EQ(text_of(placement.only_on(0)), "[0,1) [3,4)");
  EXPECT_TRUE(Placement::of(placement.runs(), 4, 2));
  EXPECT_FALSE(Placement::of({{{0, 4}, {0}, 3}}, 4, 2));            // Nobody has it.
  EXPECT_FALSE(Placement::of({{{0, 4}, {0}, 0, {{1, 3}}}}, 4, 2));  // It is not in the chain.
}

// The same two may be neighbours again, and are told apart.
TEST(Placement, TellsByWhichAttemptAServerHasComeToAChain) {
  Placement placement = Placement::even(4, 2);
  placement.move({0, 2}, {0, 1}, 7);
  EXPECT_EQ(placement.joined_as(RangeId{0}, 1), 7u);
  placement.end_join({0, 2}, 1, 7);
  EXPECT_EQ(placement.joined_as(RangeId{1}, 1), 7u);
  EXPECT_EQ(placement.joined_as(RangeId{1}, 0), 0u);
  placement.move({0, 2}, {1});
  placement.move({0, 2}, {1, 0}, 9);
  EXPECT_EQ(placement.joined_as(RangeId{0}, 1), 7u);
  EXPECT_EQ(placement.joined_as(RangeId{0}, 0), 9u);
  EXPECT_EQ(placement.joined_as(RangeId{3}, 1), 0u);
}

TEST(Placement, UnitsAreSoManyThatServersThatComeLaterGetSome) {
  for (const std::uint32_t servers : {1u, 2u, 3u, 4u, 7u}) {
    const auto units = chain_units(256, servers);
    EXPECT_EQ(units.size(), std::max(kUnitsLeast, servers * (servers - 1))) << servers;
    const Placement first = Placement::even(256, servers, 2);
    std::uint16_t next = 0;
    for (const RangeSpan unit : units) {
      EXPECT_EQ(unit.begin, next);
      EXPECT_TRUE(first.run_of(RangeId{unit.begin})
                      .ranges.contains(RangeId{static_cast<std::uint16_t>(unit.end - 1)}));
      next = unit.end;
    }
    EXPECT_EQ(next, 256u);
  }
  EXPECT_EQ(chain_units(1, 3).size(), 1u);
}

TEST(Placement, WhoeverJoinsBeginsAnewWhenTheChainLosesAnother) {
  Placement placement = Placement::even(2, 1);
  placement.move({0, 1}, {0, 1, 2}, 7);
  Placement without_joiner = placement;
  placement.remove(1, 8);
  EXPECT_EQ(placement.runs()[0], (PlacedRun{{0, 1}, {0, 2}, 8, {{2, 8}}}));
  without_joiner.remove(2, 8);
  EXPECT_EQ(without_joiner.runs()[0], (PlacedRun{{0, 1}, {0, 1}, 0}));
}

}  // namespace
}  // namespace thalweg
