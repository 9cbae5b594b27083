#include "worker/combiner.h"

#include <gtest/gtest.h>

#include <limits>

#include "base/limits.h"

namespace thalweg {
namespace {

using Floats = std::vector<float>;
using Numbers = std::vector<std::uint64_t>;

constexpr Instant kNow{1000};

std::vector<TableSpec> tables() {
  TableSpec sparse;
  sparse.ranges = 4;
  TableSpec dense = sparse;
  dense.kind = TableSpec::Kind::kDense;
  dense.rows = 40;
  TableSpec assign = sparse;
  assign.rule.kind = RuleKind::kAssign;
  return {sparse, dense, assign};
}

std::vector<ShardId> shards(std::uint32_t begin, std::uint32_t end) {
  std::vector<ShardId> out;
  for (std::uint32_t s = begin; s < end; ++s) out.push_back(ShardId{s});
  return out;
}

Frame push(std::uint32_t shard, std::uint32_t step, Numbers keys, Floats values, std::uint8_t flags = 0) {
  Frame frame;
  frame.head.op = Op::kPush;
  frame.head.shard = ShardId{shard};
  frame.head.step.index = step;
  frame.head.ranges = {0, 4};
  frame.head.flags = flags;
  frame.head.request = 100 + shard;
  if (!keys.empty()) frame.first = Bytes::of(std::move(keys));
  if (!values.empty()) frame.second = Bytes::of(std::move(values));
  return frame;
}

Frame in_table(std::uint16_t table, Frame frame) {
  frame.head.table = TableId{table};
  return frame;
}

Floats values_of(const Frame& frame) { return {frame.values().begin(), frame.values().end()}; }
Numbers keys_of(const Frame& frame) { return {frame.keys().begin(), frame.keys().end()}; }

struct Started {
  explicit Started(std::uint32_t of = 8, std::uint32_t begin = 0) {
    combiner.reset(tables(), of, shards(begin, of));
  }
  void add(Frame frame) {
    const NodeId from = worker_node(frame.head.shard.value);
    combiner.add(kNow, from, std::move(frame));
  }
  std::vector<Combiner::Batch> take(Duration after = {}) { return combiner.take(kNow + after); }
  Combiner combiner;
};

TEST(Combiner, SendsOnePushForAllShardsByTheTree) {
  Started c(4);
  const float big = 1e8f;
  c.add(push(2, 0, {5}, {-big}));
  c.add(push(0, 0, {5, 9}, {1, 4}));
  c.add(push(3, 0, {7}, {2}));
  EXPECT_TRUE(c.take().empty());
  c.add(push(1, 0, {5}, {big}));
  const auto sent = c.take();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].frame.head.shard, ShardId{0});
  EXPECT_EQ(sent[0].frame.head.block, 2);
  EXPECT_EQ(keys_of(sent[0].frame), (Numbers{5, 7, 9}));
  EXPECT_EQ(values_of(sent[0].frame), (Floats{(1 + big) + -big, 2, 4}));
  ASSERT_EQ(sent[0].askers.size(), 4u);
  for (std::uint32_t s = 0; s < 4; ++s) {
    EXPECT_EQ(sent[0].askers[s].from, worker_node(s));
    EXPECT_EQ(sent[0].askers[s].head.request, 100 + s);
  }
  EXPECT_EQ(c.combiner.next_deadline(), kNever);
}

TEST(Combiner, CoversItsShardsByAlignedBlocks) {
  Started c(8, 1);
  for (std::uint32_t s = 1; s < 8; ++s) c.add(push(s, 0, {s}, {1}));
  const auto sent = c.take();
  ASSERT_EQ(sent.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(sent[i].frame.head.shard.value, 1u << i);
    EXPECT_EQ(sent[i].frame.head.block, i);
    EXPECT_EQ(keys_of(sent[i].frame).size(), std::size_t{1} << i);
  }
}

TEST(Combiner, HoldsNothingForLong) {
  Started c(4);
  c.add(push(0, 0, {5}, {1}));
  c.add(push(1, 0, {6}, {1}));
  c.add(push(3, 0, {7}, {1}));
  EXPECT_EQ(c.combiner.next_deadline(), kNow + limits::kCombineHold);
  EXPECT_TRUE(c.take(limits::kCombineHold - Duration{1}).empty());
  const auto sent = c.take(limits::kCombineHold);
  ASSERT_EQ(sent.size(), 2u);
  EXPECT_EQ(sent[0].frame.head.block, 1);
  EXPECT_EQ(sent[1].frame.head.shard, ShardId{3});
  c.add(push(2, 0, {8}, {1}));  // All others have been here.
  EXPECT_EQ(c.take().size(), 1u);
}

TEST(Combiner, WaitsForNoShardThatHasEnded) {
  Started c(2);
  c.add(push(1, 0, {}, {}, frame_flags::kEndOfEpoch));
  EXPECT_TRUE(c.take().empty());
  c.add(push(0, 0, {5}, {1}));
  ASSERT_EQ(c.take().size(), 2u);  // They end differently, so they go apart.
  c.add(push(0, 1, {5}, {1}));
  EXPECT_EQ(c.take().size(), 1u);
  Frame next_epoch = push(0, 0, {5}, {1});
  next_epoch.head.step.epoch = 1;
  c.add(next_epoch);
  EXPECT_TRUE(c.take().empty());
}

TEST(Combiner, EndsOfAllAreOneEmptyPush) {
  Started c(2);
  for (std::uint32_t s = 0; s < 2; ++s) c.add(push(s, 3, {}, {}, frame_flags::kEndOfWork));
  const auto sent = c.take();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].frame.head.flags, frame_flags::kEndOfWork);
  EXPECT_EQ(sent[0].frame.head.block, 1);
  EXPECT_TRUE(sent[0].frame.first.empty());
}

TEST(Combiner, OtherRangesAndStepsStayApart) {
  Started c(2);
  c.add(push(0, 0, {5}, {1}));
  Frame other = push(1, 0, {5}, {1});
  other.head.ranges = {0, 2};
  c.add(other);
  c.add(push(1, 1, {5}, {1}));  // So its step 0 has been here or will come again.
  const auto sent = c.take();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].frame.head.block, 0);
  EXPECT_EQ(c.take(limits::kCombineHold).size(), 2u);
}

TEST(Combiner, ARepeatAndABlockThatHoldsItAreOne) {
  Started c(4);
  c.add(push(1, 0, {5}, {2}));
  c.add(push(1, 0, {5}, {2}));
  Frame block = push(0, 0, {5}, {3});
  block.head.block = 1;
  c.add(block);
  c.add(push(0, 0, {5}, {1}));
  const auto sent = c.take(limits::kCombineHold);
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].frame.head.block, 1);
  EXPECT_EQ(values_of(sent[0].frame), (Floats{3}));
  EXPECT_EQ(sent[0].askers.size(), 4u);
}

TEST(Combiner, DenseBlocksOfRowsAreAddedUpWhereTheyMeet) {
  Started c(2);
  c.add(in_table(1, push(0, 0, {3}, {1, 1, 1})));
  c.add(in_table(1, push(1, 0, {5}, {2, 2})));
  auto sent = c.take();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(keys_of(sent[0].frame), (Numbers{3}));
  EXPECT_EQ(values_of(sent[0].frame), (Floats{1, 1, 3, 2}));
  c.add(in_table(1, push(0, 1, {3}, {1})));
  c.add(in_table(1, push(1, 1, {9}, {2})));  // Apart, so one frame cannot hold both.
  sent = c.take();
  ASSERT_EQ(sent.size(), 2u);
  EXPECT_EQ(sent[0].frame.head.block, 0);
  EXPECT_EQ(values_of(sent[1].frame), (Floats{2}));
}

TEST(Combiner, TheLastShardsValueIsAssigned) {
  Started c(2);
  c.add(in_table(2, push(1, 0, {5}, {7})));
  c.add(in_table(2, push(0, 0, {5, 6}, {1, 2})));
  const auto sent = c.take();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(values_of(sent[0].frame), (Floats{7, 2}));
}

TEST(Combiner, ASumThatOverflowsIsLeftToTheServer) {
  Started c(2);
  const float most = std::numeric_limits<float>::max();
  c.add(push(0, 0, {5}, {most}));
  c.add(push(1, 0, {5}, {most}));
  const auto sent = c.take();
  ASSERT_EQ(sent.size(), 2u);
  EXPECT_EQ(values_of(sent[0].frame), (Floats{most}));
}

TEST(Combiner, WhereNobodyIsWaitedForWhatComesMeanwhileLeavesTogether) {
  Started c(8);
  c.combiner.reset(tables(), 8, shards(0, 8), Combiner::WaitFor::kAnswer);
  c.add(push(0, 0, {5}, {1}));
  ASSERT_EQ(c.take().size(), 1u);
  for (const std::uint32_t s : {2u, 3u, 5u}) c.add(push(s, 4, {5}, {1}));
  c.add(push(3, 5, {5}, {1}));
  c.add(in_table(2, push(6, 0, {5}, {1})));  // Of another table, which nothing holds up.
  EXPECT_EQ(c.take().size(), 1u);
  EXPECT_EQ(c.combiner.next_deadline(), kNow + limits::kCombineHold);
  c.combiner.on_answered(TableId{0}, {0, 4});
  const auto sent = c.take();
  ASSERT_EQ(sent.size(), 3u);
  EXPECT_EQ(sent[0].frame.head.block, 1);
  EXPECT_EQ(values_of(sent[0].frame), (Floats{2}));
  c.add(push(1, 1, {5}, {1}));
  for (int answers = 0; answers < 2; ++answers) {
    c.combiner.on_answered(TableId{0}, {0, 4});
    EXPECT_TRUE(c.take().empty());
  }
  EXPECT_EQ(c.take(limits::kCombineHold).size(), 1u) << "an answer that is late holds nothing for long";
}

TEST(Combiner, ForgetsAllWhenTheMapChanges) {
  Started c(2);
  c.add(push(0, 0, {5}, {1}));
  c.combiner.reset(tables(), 2, shards(0, 2));
  EXPECT_EQ(c.combiner.next_deadline(), kNever);
  EXPECT_TRUE(c.take(limits::kCombineHold).empty());
}

}  // namespace
}  // namespace thalweg
