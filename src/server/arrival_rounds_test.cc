// Updates by the number of pushes, at a server's host of a table.
#include "server/arrival_rounds.h"

#include <gtest/gtest.h>

#include "server/table_host.h"

namespace thalweg {
namespace {

constexpr std::uint16_t kTwoRanges = 2;
constexpr RangeSpan kBoth{0, kTwoRanges}, kFirst{0, 1}, kSecond{1, 2};

// Two rows in two ranges; SGD at rate 1 subtracts what an update is.
TableHost counting_host(std::uint32_t n, std::uint32_t shards, const RangeSet& owned = kBoth,
                        RuleKind rule = RuleKind::kSgd,
                        Consistency (*mode)(std::uint32_t n) = Consistency::softsync) {
  TableSpec spec;
  spec.kind = TableSpec::Kind::kDense;
  spec.name = "t";
  spec.rows = spec.ranges = kTwoRanges;
  spec.rule.kind = rule;
  spec.rule.rate = 1.0f;
  return TableHost(*make_table(spec, owned), mode(n), shards);
}

Frame request(Op op, std::uint32_t shard, Step step, RangeSpan ranges) {
  Frame frame;
  frame.head.op = op;
  frame.head.shard = ShardId{shard};
  frame.head.step = step;
  frame.head.ranges = ranges;
  frame.first = Bytes::of(std::vector<std::uint64_t>{ranges.begin});
  return frame;
}

// The same value to each row of the ranges.
void push(TableHost& host, std::uint32_t shard, Step step, float value, RangeSpan ranges = kBoth) {
  Frame frame = request(Op::kPush, shard, step, ranges);
  frame.second = Bytes::of(std::vector<float>(ranges.size(), value));
  const Status pushed = host.push(frame);
  EXPECT_TRUE(pushed.ok()) << pushed.message();
}

void end_pass(TableHost& host, std::uint32_t shard, Step step) {
  Frame frame = request(Op::kPush, shard, step, kBoth);
  frame.head.flags = frame_flags::kEndOfEpoch;
  frame.first = {};
  EXPECT_TRUE(host.push(frame).ok());
}

std::vector<float> pull(TableHost& host, std::uint32_t shard, Step step, std::uint8_t flags = 0) {
  Frame frame = request(Op::kPull, shard, step, kBoth);
  frame.head.flags = flags;
  frame.first = Bytes::of(std::vector<std::uint64_t>{0, kTwoRanges});
  const auto rows = host.pull(frame);
  EXPECT_TRUE(rows.ok());
  const auto floats = rows->as<float>();
  return {floats.begin(), floats.end()};
}

std::vector<float> look(TableHost& host) { return pull(host, 0, {0, 0}, frame_flags::kReadOnly); }

using Floats = std::vector<float>;
using Behind = std::map<std::uint32_t, std::uint64_t>;

TEST(ArrivalRounds, AnUpdateIsTheMeanOfSoManyPushesOfAnyShards) {
  TableHost host = counting_host(2, 6);
  push(host, 0, {0, 0}, 3);
  push(host, 0, {0, 1}, 6);  // Its own next step counts as well as others'.
  EXPECT_EQ(look(host), (Floats{0, 0}));
  push(host, 5, {0, 0}, 9);
  EXPECT_EQ(look(host), (Floats{-6, -6}));
  EXPECT_EQ(host.steps_open(), 0u);
  push(host, 5, {0, 0}, 9);  // A repeat.
  push(host, 1, {0, 0}, 3), push(host, 2, {0, 0}, 0);
  EXPECT_EQ(look(host), (Floats{-6, -6}));
}

TEST(ArrivalRounds, APushIsDividedByTheUpdatesThatItIsBehind) {
  TableHost host = counting_host(4, 4);
  pull(host, 0, {0, 0}), pull(host, 1, {0, 0});
  for (std::uint32_t step = 0; step < 4; ++step) push(host, 1, {0, step}, 0);
  push(host, 0, {0, 0}, 8);
  EXPECT_EQ(look(host), (Floats{-2, -2}));
  pull(host, 0, {0, 1});
  push(host, 0, {0, 1}, 1);  // As fresh as can be.
  EXPECT_EQ(look(host), (Floats{-3, -3}));
  EXPECT_EQ(host.pushes_behind(), (Behind{{0, 5}, {4, 1}}));
}

// The worker may have got the first answer, however often it asked.
TEST(ArrivalRounds, OfSeveralAnswersTheOldestCounts) {
  TableHost host = counting_host(2, 2);
  pull(host, 0, {0, 0});
  push(host, 1, {0, 0}, 0), push(host, 1, {0, 1}, 0);
  pull(host, 0, {0, 0});
  push(host, 0, {0, 0}, 8);
  EXPECT_EQ(look(host), (Floats{-4, -4}));
  pull(host, 0, {0, 0});  // Late; not what the next push is computed on.
  push(host, 1, {0, 2}, 0);
  pull(host, 0, {0, 1});
  push(host, 0, {0, 1}, 8);
  EXPECT_EQ(look(host), (Floats{-12, -12}));
}

TEST(ArrivalRounds, RangesCountForThemselves) {
  TableHost host = counting_host(1, 2);
  push(host, 0, {0, 0}, 2, kFirst);
  push(host, 1, {0, 0}, 4);
  EXPECT_EQ(look(host), (Floats{-3, 0}));
  push(host, 0, {0, 0}, 2, kSecond);
  EXPECT_EQ(look(host), (Floats{-3, -3}));
  EXPECT_EQ(host.steps_open(), 0u);
}

TEST(ArrivalRounds, TheEndOfAPassMakesAnUpdateOfWhatIsLeft) {
  TableHost host = counting_host(1, 4);
  push(host, 0, {0, 0}, 4), push(host, 1, {0, 0}, 8);
  for (std::uint32_t shard = 0; shard < 4; ++shard) {
    EXPECT_EQ(look(host), (Floats{0, 0})) << shard;
    end_pass(host, shard, {0, shard < 2 ? 1u : 0u});
  }
  EXPECT_EQ(look(host), (Floats{-3, -3}));
  EXPECT_EQ(host.pushes_behind(), (Behind{{0, 2}})) << "an end is no gradient";
  for (std::uint32_t shard = 0; shard < 4; ++shard) push(host, shard, {1, 0}, 4);
  EXPECT_EQ(look(host), (Floats{-7, -7}));
}

// Of shards [first, first + 2^log2).
Frame block(std::uint32_t first, std::uint8_t log2, Step step, float value, RangeSpan ranges = kBoth) {
  Frame frame = request(Op::kPush, first, step, ranges);
  frame.head.block = log2;
  frame.second = Bytes::of(std::vector<float>(ranges.size(), value));
  return frame;
}

TEST(ArrivalRounds, ASumCountsForAllItsShardsAndIsAsOldAsTheOldest) {
  TableHost host = counting_host(1, 4);
  for (std::uint32_t shard = 0; shard < 4; ++shard) pull(host, shard, {0, 0});
  for (std::uint32_t step = 0; step < 8; ++step) push(host, 3, {0, step}, 0);  // Two updates.
  pull(host, 1, {0, 0}, frame_flags::kReadOnly);
  EXPECT_TRUE(host.push(block(0, 1, {0, 0}, 16)).ok());
  push(host, 2, {0, 0}, 0);
  EXPECT_EQ(look(host), (Floats{0, 0}));
  push(host, 3, {0, 8}, 0);
  EXPECT_EQ(look(host), (Floats{-2, -2}));  // A quarter of it, halved.
  EXPECT_EQ(host.pushes_behind(), (Behind{{0, 9}, {2, 3}}));
}

// Of a reader that waits for nothing, the server cannot tell what a push was computed on.
TEST(ArrivalRounds, APushThatSaysItsVersionIsAsOldAsThat) {
  TableHost host = counting_host(2, 2, kBoth, RuleKind::kSgd, Consistency::free_softsync);
  EXPECT_EQ(host.version_of(kBoth), 1u);
  pull(host, 0, {0, 5});  // Ahead of all that it has pushed.
  for (std::uint32_t step = 0; step < 3; ++step) push(host, 1, {0, step}, 0);
  EXPECT_EQ(host.version_of(kBoth), 4u);
  Frame said = request(Op::kPush, 0, {0, 0}, kBoth);
  said.head.version = 2;
  said.second = Bytes::of(Floats{8, 8});
  EXPECT_TRUE(host.push(said).ok());
  EXPECT_EQ(look(host), (Floats{-4, -4}));
  said.head.step = {0, 1};
  said.head.version = 99;  // Of another server's range, which has had more updates.
  EXPECT_TRUE(host.push(said).ok());
  EXPECT_EQ(look(host), (Floats{-12, -12}));
  EXPECT_EQ(host.pushes_behind(), (Behind{{0, 4}, {2, 1}}));
}

TEST(ArrivalRounds, NewerRowsAreThereWhenAnUpdateIsWhole) {
  TableHost host = counting_host(1, 2);
  Frame ask = request(Op::kPull, kNoShard.value, {0, 0}, kBoth);
  ask.head.flags = frame_flags::kReadOnly | frame_flags::kNewer;
  ask.first = Bytes::of(std::vector<std::uint64_t>{0, kTwoRanges});
  EXPECT_TRUE(host.pull(ask).ok()) << "who has none yet";
  ask.head.version = host.version_of(kBoth);
  push(host, 0, {0, 0}, 2, kFirst), push(host, 1, {0, 0}, 2);
  EXPECT_EQ(host.pull(ask).status().code(), Code::kRetry) << "one of two ranges has none";
  const std::uint64_t news = host.version();
  push(host, 0, {0, 0}, 2, kSecond);
  EXPECT_GT(host.version(), news);
  EXPECT_TRUE(host.pull(ask).ok());
  TableSpec spec;
  spec.kind = TableSpec::Kind::kDense;
  spec.name = "t";
  spec.rows = spec.ranges = kTwoRanges;
  TableHost uncounted(*make_table(spec, kBoth), Consistency::async(), 2);
  EXPECT_EQ(uncounted.pull(ask).status().code(), Code::kRefused);
}

TEST(ArrivalRounds, WhatASumHasAboveAnUpdateCountsForTheNext) {
  TableHost host = counting_host(2, 6);  // Three pushes an update.
  push(host, 5, {0, 0}, 3);
  EXPECT_TRUE(host.push(block(0, 2, {0, 0}, 6)).ok());
  EXPECT_EQ(look(host), (Floats{-3, -3}));
  EXPECT_EQ(host.steps_open(), 0u);
  push(host, 4, {0, 0}, 3);  // With the two that were above, a whole one.
  EXPECT_EQ(look(host), (Floats{-4, -4}));
  pull(host, 5, {0, 1});
  EXPECT_TRUE(host.push(block(0, 2, {0, 1}, 6)).ok());
  EXPECT_EQ(look(host), (Floats{-6, -6}));
}

// Part of it cannot be taken out again.
TEST(ArrivalRounds, ASumOfWhichSomeHasComeIsPutOffAndChangesNothing) {
  TableHost host = counting_host(2, 2);
  push(host, 1, {0, 0}, 2, kSecond);
  const TableHost& known = host;
  const std::uint64_t before = known.table().digest();
  EXPECT_EQ(host.push(block(0, 1, {0, 0}, 2)).code(), Code::kRetry);
  EXPECT_EQ(known.table().digest(), before);
  EXPECT_EQ(host.clock(ShardId{0}), (Step{0, 0}));
  EXPECT_TRUE(host.push(block(0, 1, {0, 0}, 2, kFirst)).ok());
  push(host, 0, {0, 0}, 2), push(host, 1, {0, 0}, 2);
  EXPECT_EQ(look(host), (Floats{-2, -4}));
  EXPECT_TRUE(host.push(block(0, 1, {0, 0}, 2)).ok()) << "all of it has come";
  EXPECT_EQ(look(host), (Floats{-2, -4}));
}

TEST(ArrivalRounds, WhatAddsUpIsNotScaled) {
  TableHost host = counting_host(1, 2, kBoth, RuleKind::kAdd);
  push(host, 0, {0, 0}, 4), push(host, 0, {0, 1}, 8);
  EXPECT_EQ(look(host), (Floats{12, 12}));
}

TEST(ArrivalRounds, ARangeThatMovesTakesWhatItCollectsAlong) {
  TableHost host = counting_host(1, 2), other = counting_host(1, 2, {});
  pull(host, 1, {0, 0});
  for (std::uint32_t step = 0; step < 3; ++step) push(host, 0, {0, step}, 2);
  std::vector<RangeState> states = host.give_up(kSecond);
  EXPECT_EQ(states[0].round, (Round{1, 1, 0}));
  for (auto* wrong : {+[](RangeState& state) { state.round.pushes = 2; },
                      +[](RangeState& state) { state.round.pushes = 0; },
                      +[](RangeState& state) { state.round.version = 7; },
                      +[](RangeState& state) { state.read.clear(); }}) {
    std::vector<RangeState> changed = {states};
    wrong(changed[0]);
    EXPECT_EQ(other.adopt(std::move(changed)).code(), Code::kData);
    EXPECT_TRUE(other.owned().empty());
  }
  ASSERT_TRUE(other.adopt(std::move(states)).ok());
  push(host, 1, {0, 0}, 4, kFirst);
  push(other, 1, {0, 0}, 4, kSecond);
  for (TableHost* half : {&host, &other}) {
    EXPECT_EQ(half->state_of(RangeId{half->owned().runs()[0].begin}).rows, (Floats{-5}));
    EXPECT_EQ(half->pushes_behind().at(1), 1u);
  }
}

}  // namespace
}  // namespace thalweg
