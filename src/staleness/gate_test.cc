#include "staleness/gate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/random.h"

namespace thalweg {
namespace {

// The definition, spelled out over all shards.
bool may_read(const std::vector<Step>& clocks, Consistency consistency, std::uint32_t shard, Step wanted) {
  if (consistency.kind == Consistency::Kind::kFreeSoftsync) return true;
  if (clocks[shard] < wanted) return false;
  if (consistency.kind == Consistency::Kind::kAsync) return true;
  return std::all_of(clocks.begin(), clocks.end(), [&](Step clock) {
    if (clock >= wanted) return true;
    if (clock.epoch != wanted.epoch) return false;
    return wanted.index - clock.index <= consistency.bound;
  });
}

TEST(Gate, OpensExactlyWhenTheDefinitionSaysSo) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Random random(seed);
    const auto shards = static_cast<std::uint32_t>(1 + random.below(5));
    Consistency consistency;
    if (seed % 3 == 1) consistency = Consistency::bounded(static_cast<std::uint32_t>(random.below(4)));
    if (seed % 3 == 2) consistency = Consistency::async();
    if (seed % 7 == 6) consistency = Consistency::free_softsync(2);
    const auto policy = step_policy(consistency);
    Gate gate(*policy, shards);
    std::vector<Step> clocks(shards);
    for (int i = 0; i < 200; ++i) {
      const auto shard = static_cast<std::uint32_t>(random.below(shards));
      if (random.chance(0.7) && clocks[shard] != kEndOfWork) {
        Step& clock = clocks[shard];
        clock = random.chance(0.1) ? clock.next_epoch() : clock.next();
        if (random.chance(0.01)) clock = kEndOfWork;
        gate.advance(ShardId{shard}, clock);
      }
      const Step wanted{static_cast<std::uint32_t>(random.below(8)),
                        static_cast<std::uint32_t>(random.below(12))};
      const auto reader = static_cast<std::uint32_t>(random.below(shards));
      ASSERT_EQ(gate.open(ShardId{reader}, wanted), may_read(clocks, consistency, reader, wanted));
      ASSERT_EQ(gate.open(ShardId{reader}, wanted), gate.missing(ShardId{reader}, wanted, shards).empty());
      ASSERT_EQ(gate.clocks().slowest(), *std::min_element(clocks.begin(), clocks.end()));
      if (gate.open(ShardId{reader}, wanted) && consistency.kind == Consistency::Kind::kBounded) {
        ASSERT_LE(gate.clocks().lead(wanted), consistency.bound);
      }
    }
  }
}

TEST(Gate, NamesNoMoreThanAsked) {
  const auto policy = lockstep();
  Gate gate(*policy, 5);
  EXPECT_EQ(gate.missing(ShardId{0}, {0, 1}, 2).size(), 2u);
}

TEST(Gate, OfferedAnyStepKeepsItsArithmetic) {
  const auto policy = bounded(~0u);
  Gate gate(*policy, 2);
  EXPECT_FALSE(gate.open(ShardId{0}, {~0u, ~0u}));
  gate.advance(ShardId{0}, kEndOfWork);
  EXPECT_TRUE(gate.open(ShardId{0}, {0, ~0u}));
  EXPECT_EQ(gate.clocks().lead({0, ~0u}), ~0u);
}

}  // namespace
}  // namespace thalweg
