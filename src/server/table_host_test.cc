#include "server/table_host.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

namespace thalweg {
namespace {

constexpr std::uint16_t kHostRanges = 4;
constexpr RangeSpan kHostAll{0, kHostRanges};

TableHost host(Consistency consistency, std::uint32_t shards,
               TableSpec::Kind kind = TableSpec::Kind::kSparse) {
  TableSpec spec;
  spec.kind = kind;
  spec.name = "t";
  spec.rows = kind == TableSpec::Kind::kDense ? 40 : 0;
  spec.ranges = kHostRanges;
  return TableHost(*make_table(spec, kHostAll), consistency, shards);
}

// A key in the middle of a range.
std::uint64_t key_in(std::uint16_t range) { return range_first_key(range, kHostRanges) + 12345; }

Frame push(std::uint32_t shard, Step step, RangeSpan ranges, float value = 1.0f, std::uint8_t flags = 0) {
  Frame frame;
  frame.head.op = Op::kPush;
  frame.head.shard = ShardId{shard};
  frame.head.step = step;
  frame.head.ranges = ranges;
  frame.head.flags = flags;
  std::vector<std::uint64_t> keys;
  for (std::uint16_t range = ranges.begin; range < ranges.end; ++range) keys.push_back(key_in(range));
  frame.second = Bytes::of(std::vector<float>(keys.size(), value));
  frame.first = Bytes::of(std::move(keys));
  return frame;
}

Frame pull(std::uint32_t shard, Step step, std::uint8_t flags = 0) {
  Frame frame = push(shard, step, kHostAll, 0, flags);
  frame.head.op = Op::kPull;
  frame.second = {};
  return frame;
}

std::vector<float> read(TableHost& host, std::uint32_t shard, Step step) {
  const auto rows = host.pull(pull(shard, step, frame_flags::kReadOnly));
  EXPECT_TRUE(rows.ok()) << rows.status().message();
  if (!rows) return {};
  const auto floats = rows->as<float>();
  return {floats.begin(), floats.end()};
}

using Floats = std::vector<float>;

Frame load(RangeSpan ranges, const Floats& rows) {
  Frame frame = push(kNoShard.value, {}, ranges);
  frame.head.op = Op::kLoad;
  frame.second = Bytes::of(rows);
  return frame;
}

TEST(TableHost, ARangeBeginsWithWhatIsLoadedUntilSomethingIsPushed) {
  TableHost t = host(Consistency::sync(), 2);
  for (int repeat = 0; repeat < 2; ++repeat) {
    for (std::uint16_t r = 0; r < 3; ++r)
      ASSERT_TRUE(t.load(load({r, static_cast<std::uint16_t>(r + 1)}, {r + 1.0f})).ok());
  }
  EXPECT_EQ(read(t, 0, {}), (Floats{1, 2, 3, 0}));
  EXPECT_TRUE(t.push(push(1, {}, {0, 2})).ok());
  EXPECT_EQ(t.load(load({1, 2}, {7})).code(), Code::kRefused);
  EXPECT_TRUE(t.load(load({2, 3}, {7})).ok()) << "nothing has been pushed there";
  EXPECT_TRUE(t.push(push(0, {}, kHostAll)).ok());
  EXPECT_TRUE(t.push(push(1, {}, {2, 4})).ok());
  EXPECT_EQ(read(t, 0, {0, 1}), (Floats{3, 4, 9, 2}));
  EXPECT_EQ(t.load(load({3, 4}, {7})).code(), Code::kRefused);
}

TEST(TableHost, WhatCannotBeLoadedChangesNothing) {
  TableHost t = host(Consistency::sync(), 1);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(t.load(load({0, 2}, {1, 2})).code(), Code::kRefused) << "one range at a time";
  EXPECT_EQ(t.load(load({0, 1}, {1, 2})).code(), Code::kModel) << "wider than the table's";
  EXPECT_EQ(t.load(load({0, 1}, {})).code(), Code::kModel);
  EXPECT_EQ(t.load(load({0, 1}, {nan})).code(), Code::kNonFinite);
  Frame astray = load({0, 1}, {1});
  astray.head.ranges = {2, 3};
  EXPECT_EQ(t.load(astray).code(), Code::kRefused) << "a key of another range";
  EXPECT_EQ(t.load(load({0, 1}, {1}), 3).code(), Code::kData) << "no room";
  EXPECT_EQ(t.table().stats().rows, 0u);
}

TEST(TableHost, AStepThatClosedWithoutAShardDropsItsPush) {
  TableHost t = host(Consistency::backup(1), 3);
  EXPECT_TRUE(t.push(push(0, {0, 0}, kHostAll, 1)).ok());
  EXPECT_FALSE(t.pull(pull(0, {0, 1})).ok());
  EXPECT_FALSE(t.is_late({0, 0}));
  EXPECT_TRUE(t.push(push(1, {0, 0}, kHostAll, 2)).ok());
  EXPECT_EQ(read(t, 0, {0, 1}), Floats(kHostRanges, 3));
  EXPECT_TRUE(t.is_late({0, 0}));
  EXPECT_FALSE(t.is_late({0, 1}));
  for (int i = 0; i < 2; ++i)
    EXPECT_TRUE(t.push(push(2, {0, 0}, kHostAll, 4)).ok()) << "the second is a repeat";
  EXPECT_EQ(t.pushes_dropped(), 1u);
  EXPECT_EQ(t.repeats(), 1u);
  EXPECT_EQ(read(t, 2, {0, 1}), Floats(kHostRanges, 3));
  EXPECT_TRUE(t.push(push(2, {0, 1}, kHostAll, 4)).ok()) << "it goes on with the others";
  EXPECT_TRUE(t.push(push(0, {0, 1}, kHostAll, 1)).ok());
  EXPECT_EQ(read(t, 1, {0, 1}), Floats(kHostRanges, 8));
  Frame end = push(1, {0, 1}, kHostAll, 0, frame_flags::kEndOfEpoch);
  end.first = end.second = {};
  EXPECT_TRUE(t.push(end).ok());
  EXPECT_EQ(t.pushes_dropped(), 1u) << "an end is none";
}

TEST(TableHost, CountsTheRowsThatOpenStepsWillMake) {
  TableHost t = host(Consistency::sync(), 2);
  const std::uint64_t empty = t.bytes_in_use();
  const std::uint64_t row = sizeof(Key) + sizeof(float);
  EXPECT_TRUE(t.push(push(0, {0, 0}, kHostAll)).ok());
  EXPECT_EQ(t.bytes_in_use(), empty + kHostRanges * row);
  const std::vector<RangeState> states = t.give_up(RangeSpan{0, 2});
  EXPECT_EQ(t.bytes_in_use(), empty + 2 * row);
  EXPECT_TRUE(t.adopt(states).ok());
  EXPECT_EQ(t.bytes_in_use(), empty + kHostRanges * row);
  EXPECT_TRUE(t.push(push(1, {0, 0}, kHostAll)).ok());
  EXPECT_EQ(t.bytes_in_use(), t.stats().bytes);
  EXPECT_EQ(t.table().stats().rows, kHostRanges);
}

TEST(TableHost, RefusesRowsForWhichThereIsNoRoom) {
  TableHost t = host(Consistency::async(), 1);
  const std::uint64_t row = sizeof(Key) + sizeof(float);
  EXPECT_EQ(t.push(push(0, {0, 0}, kHostAll), kHostRanges * row - 1).code(), Code::kData);
  EXPECT_EQ(t.table().stats().rows, 0u);
  EXPECT_TRUE(t.push(push(0, {0, 0}, {0, 2}), 2 * row).ok());
  EXPECT_TRUE(t.push(push(0, {0, 0}, {0, 2}), 0).ok());  // A repeat.
  EXPECT_EQ(t.push(push(0, {0, 0}, kHostAll), 2 * row - 1).code(), Code::kData);
  EXPECT_TRUE(t.push(push(0, {0, 0}, kHostAll), 2 * row).ok());
  EXPECT_TRUE(t.push(push(0, {0, 1}, kHostAll), 0).ok());  // Its rows are there.
}

TEST(TableHost, AResplitRepeatIsAppliedOncePerRange) {
  TableHost t = host(Consistency::async(), 1);
  EXPECT_TRUE(t.push(push(0, {0, 0}, {0, 2})).ok());
  EXPECT_EQ(t.clock(ShardId{0}), (Step{0, 0}));
  EXPECT_TRUE(t.push(push(0, {0, 0}, {1, 3})).ok());    // Range 1 again, range 2 anew.
  EXPECT_TRUE(t.push(push(0, {0, 0}, kHostAll)).ok());  // Only range 3 is new.
  EXPECT_EQ(t.repeats(), 0u);
  EXPECT_TRUE(t.push(push(0, {0, 0}, kHostAll)).ok());
  EXPECT_EQ(t.repeats(), 1u);
  EXPECT_EQ(t.clock(ShardId{0}), (Step{0, 1}));
  EXPECT_EQ(read(t, 0, {0, 1}), (Floats{1, 1, 1, 1}));
}

TEST(TableHost, ADenseRepeatIsCutByRangesToo) {
  TableHost t = host(Consistency::async(), 1, TableSpec::Kind::kDense);
  const auto block = [](RangeSpan ranges) {
    Frame frame = push(0, {0, 0}, ranges);
    frame.first = Bytes::of(std::vector<std::uint64_t>{ranges.begin * 10u});
    frame.second = Bytes::of(std::vector<float>(ranges.size() * std::size_t{10}, 1.0f));
    return frame;
  };
  EXPECT_TRUE(t.push(block({1, 2})).ok());
  EXPECT_TRUE(t.push(block({0, 4})).ok());
  Frame all = pull(0, {0, 1});
  all.first = Bytes::of(std::vector<std::uint64_t>{0, 40});
  const auto rows = t.pull(all);
  ASSERT_TRUE(rows.ok());
  for (const float value : rows->as<float>()) EXPECT_EQ(value, 1.0f);
}

TEST(TableHost, ASyncStepClosesInShardOrderOnceAllAreThere) {
  TableHost t = host(Consistency::sync(), 3);
  // 1e8 + 1 - 1e8 is 0 in floats, and 1e8 - 1e8 + 1 is 1: the order shows.
  EXPECT_TRUE(t.push(push(2, {0, 0}, kHostAll, 1.0f)).ok());
  EXPECT_TRUE(t.push(push(0, {0, 0}, kHostAll, 1e8f)).ok());
  EXPECT_EQ(t.table().stats().rows, 0u);
  EXPECT_EQ(t.steps_open(), 1u);
  EXPECT_EQ(t.pull(pull(0, {0, 1})).status().code(), Code::kRetry);
  EXPECT_EQ(t.waiting_for(pull(0, {0, 1}).head).missing, (std::vector<ShardId>{ShardId{1}}));
  EXPECT_TRUE(t.push(push(1, {0, 0}, kHostAll, -1e8f)).ok());
  EXPECT_EQ(t.steps_open(), 0u);
  EXPECT_EQ(read(t, 0, {0, 1}), (Floats{1, 1, 1, 1}));
}

TEST(TableHost, AnHeirIsGivenTheSameRowsAfterTheStepClosed) {
  TableHost t = host(Consistency::sync(), 2);
  const auto before = t.pull(pull(0, {0, 0}));
  ASSERT_TRUE(before.ok());
  for (std::uint32_t shard = 0; shard < 2; ++shard) EXPECT_TRUE(t.push(push(shard, {0, 0}, kHostAll)).ok());
  const auto again = t.pull(pull(0, {0, 0}));
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->owner(), before->owner());
  EXPECT_EQ(read(t, 0, {0, 1}), (Floats{2, 2, 2, 2}));
  EXPECT_EQ(t.replies_remembered(), 1u);  // Looking is not remembered.
}

TEST(TableHost, KeepsNoRowsForHeirsThatNeverCome) {
  for (const bool heirs_come : {true, false}) {
    TableHost t(*make_table(host(Consistency::sync(), 1).table().spec(), kHostAll), Consistency::sync(), 1,
                {}, heirs_come);
    const auto rows = t.pull(pull(0, {0, 0}));
    ASSERT_TRUE(rows.ok());
    EXPECT_EQ(t.replies_remembered(), 1u);
    EXPECT_EQ(t.replies_bytes(), heirs_come ? pull(0, {0, 0}).first.size() + rows->size() : 0u);
    EXPECT_TRUE(t.push(push(0, {0, 0}, kHostAll)).ok());
    EXPECT_TRUE(t.pull(pull(0, {0, 0})).ok());  // A repeat is answered, if not with the same rows.
  }
}

TEST(TableHost, RemembersABoundedNumberOfPulls) {
  TableHost t = host(Consistency::sync(), 1);
  Status status;
  for (std::size_t i = 0; i <= limits::kPullsRememberedMax && status.ok(); ++i) {
    Frame frame = pull(0, {0, 0});
    frame.first = Bytes::of(std::vector<std::uint64_t>{i});
    status = t.pull(frame).status();
  }
  EXPECT_EQ(status.code(), Code::kRefused);
  EXPECT_EQ(t.replies_remembered(), limits::kPullsRememberedMax);
}

TEST(TableHost, RefusesWhatIsWrongAndChangesNothing) {
  struct Case {
    const char* what;
    std::function<void(Frame&)> change;
    Code code;
  };
  const auto keys = [](std::vector<std::uint64_t> values) {
    return [values](Frame& f) { f.first = Bytes::of(values); };
  };
  const auto value = [](float bad) {
    return [bad](Frame& f) { f.second = Bytes::of(std::vector<float>{1, bad, 1, 1}); };
  };
  const Case cases[] = {
      {"unsorted keys", keys({key_in(1), key_in(0), key_in(2), key_in(3)}), Code::kRefused},
      {"twice the same key", keys({key_in(0), key_in(1), key_in(1), key_in(3)}), Code::kRefused},
      {"a key of another range",
       [](Frame& f) {
         f.head.ranges = {0, 3};
       },
       Code::kRefused},
      {"the reserved key", keys({key_in(0), key_in(1), key_in(2), ~std::uint64_t{0}}), Code::kRefused},
      {"more keys than values", keys({1, 2, 3, 4, 5}), Code::kRefused},
      {"values without keys", keys({}), Code::kRefused},
      {"keys without values", [](Frame& f) { f.second = {}; }, Code::kRefused},
      {"half a key", [](Frame& f) { f.first = f.first.part(0, 28); }, Code::kRefused},
      {"half a value", [](Frame& f) { f.second = f.second.part(0, 14); }, Code::kRefused},
      {"no ranges",
       [](Frame& f) {
         f.head.ranges = {2, 2};
       },
       Code::kRefused},
      {"ranges of another server",
       [](Frame& f) {
         f.head.ranges = {0, 5};
       },
       Code::kRefused},
      {"NaN", value(std::nanf("")), Code::kNonFinite},
      {"infinity", value(std::numeric_limits<float>::infinity()), Code::kNonFinite},
      {"a far step", [](Frame& f) { f.head.step.index = limits::kStepWindow + 1; }, Code::kRetry},
      {"a far epoch",
       [](Frame& f) {
         f.head.step = {1, 0};
       },
       Code::kRetry},
      {"the last of all steps",
       [](Frame& f) {
         f.head.step = {~0u, ~0u};
       },
       Code::kRetry},
  };
  for (const auto kind : {Consistency::sync(), Consistency::async()}) {
    TableHost t = host(kind, 1);
    EXPECT_TRUE(t.push(push(0, {0, 0}, kHostAll)).ok());
    const std::uint64_t digest = t.table().digest(), version = t.version();
    for (const Case& c : cases) {
      Frame frame = push(0, {0, 1}, kHostAll);
      c.change(frame);
      EXPECT_EQ(t.push(frame).code(), c.code) << c.what;
      EXPECT_EQ(t.table().digest(), digest) << c.what;
      EXPECT_EQ(t.version(), version) << c.what;
      EXPECT_EQ(t.steps_open(), 0u) << c.what;
    }
    EXPECT_TRUE(t.push(push(0, {0, 1}, kHostAll)).ok());
  }
}

TEST(TableHost, RefusesStepsBehindTheShardsEnd) {
  TableHost t = host(Consistency::async(), 1);
  EXPECT_TRUE(t.push(push(0, {0, 1}, kHostAll, 1, frame_flags::kEndOfEpoch)).ok());
  EXPECT_EQ(t.push(push(0, {0, 2}, kHostAll)).code(), Code::kRefused);
  EXPECT_TRUE(t.push(push(0, {0, 0}, kHostAll)).ok());
  EXPECT_EQ(t.clock(ShardId{0}), (Step{1, 0}));
  EXPECT_TRUE(t.push(push(0, {1, 0}, kHostAll, 1, frame_flags::kEndOfWork)).ok());
  EXPECT_TRUE(t.push(push(0, {~0u, 0}, kHostAll)).ok());  // As a repeat: not applied.
  EXPECT_EQ(read(t, 0, {1, 0}), (Floats{3, 3, 3, 3}));
}

// Range 0 has had the end of an epoch, which an heir may call the end of all work; range 1 has had a later
// step.
TEST(TableHost, APushThatIsRefusedEndsNothing) {
  TableHost t = host(Consistency::async(), 1);
  EXPECT_TRUE(t.push(push(0, {0, 0}, {0, 2})).ok());
  EXPECT_TRUE(t.push(push(0, {0, 1}, {0, 1}, 1, frame_flags::kEndOfEpoch)).ok());
  EXPECT_TRUE(t.push(push(0, {0, 2}, {1, 2})).ok());
  EXPECT_EQ(t.push(push(0, {0, 1}, {0, 2}, 1, frame_flags::kEndOfWork)).code(), Code::kRefused);
  EXPECT_TRUE(t.push(push(0, {1, 0}, {0, 1})).ok());
  EXPECT_EQ(t.repeats(), 0u);
  EXPECT_TRUE(t.push(push(0, {1, 1}, {0, 1}, 1, frame_flags::kEndOfEpoch)).ok());
  const auto rows = t.pull(pull(0, {0, 0}, frame_flags::kReadOnly));
  ASSERT_TRUE(rows.ok());
  EXPECT_EQ(rows->as<float>()[0], 4.0f);
}

TEST(TableHost, AnAnswerNeverExceedsAFrame) {
  TableSpec spec;
  spec.kind = TableSpec::Kind::kDense;
  spec.name = "big";
  spec.dim = 1024;
  spec.rows = limits::kFrameBytesMax / 4096 + 1;
  spec.ranges = 1;
  TableHost t(*make_table(spec, {0, 1}), Consistency::async(), 1);
  Frame frame;
  frame.head.ranges = {0, 1};
  frame.first = Bytes::of(std::vector<std::uint64_t>{0, limits::kFrameBytesMax / 4096});
  EXPECT_EQ(t.pull(frame).status().code(), Code::kRefused);
  frame.first = Bytes::of(std::vector<std::uint64_t>{0, limits::kFrameBytesMax / 4096 - 1});
  EXPECT_TRUE(t.pull(frame).ok());
}

// A push that stands for 2^log2 shards from `shard` on.
Frame block(std::uint32_t shard, std::uint8_t log2, Step step, RangeSpan ranges, float value,
            std::uint8_t flags = 0) {
  Frame frame = push(shard, step, ranges, value, flags);
  frame.head.block = log2;
  return frame;
}

TEST(TableHost, ABlockCountsForEachOfItsShards) {
  TableHost t = host(Consistency::sync(), 4);
  EXPECT_TRUE(t.push(block(0, 1, {0, 0}, kHostAll, 3)).ok());
  EXPECT_EQ(t.clock(ShardId{0}), (Step{0, 1}));
  EXPECT_EQ(t.clock(ShardId{1}), (Step{0, 1}));
  EXPECT_EQ(t.clock(ShardId{2}), (Step{0, 0}));
  EXPECT_EQ(t.marks(ShardId{1}).reach, (Step{0, 1}));
  EXPECT_TRUE(t.push(block(2, 1, {0, 0}, kHostAll, 5)).ok());
  EXPECT_EQ(read(t, 3, {0, 1}), (Floats{8, 8, 8, 8}));
  EXPECT_EQ(t.steps_open(), 0u);
}

TEST(TableHost, ABlockTakesThePlaceOfWhatCameSingly) {
  TableHost t = host(Consistency::sync(), 4);
  EXPECT_TRUE(t.push(push(1, {0, 0}, kHostAll, 2)).ok());
  EXPECT_TRUE(t.push(block(2, 1, {0, 0}, kHostAll, 12)).ok());
  EXPECT_TRUE(t.push(block(0, 2, {0, 0}, kHostAll, 15)).ok());  // 1 + 2 + 12
  EXPECT_EQ(t.repeats(), 0u);
  EXPECT_EQ(read(t, 0, {0, 1}), (Floats{15, 15, 15, 15}));
}

TEST(TableHost, WhatABlockHoldsIsARepeat) {
  TableHost t = host(Consistency::sync(), 5);
  EXPECT_TRUE(t.push(block(0, 2, {0, 0}, kHostAll, 10)).ok());
  EXPECT_TRUE(t.push(push(3, {0, 0}, kHostAll, 4)).ok());
  EXPECT_TRUE(t.push(block(0, 1, {0, 0}, kHostAll, 3)).ok());
  EXPECT_TRUE(t.push(block(0, 2, {0, 0}, kHostAll, 10)).ok());
  EXPECT_EQ(t.repeats(), 3u);
  EXPECT_TRUE(t.push(push(4, {0, 0}, kHostAll, 1)).ok());
  EXPECT_TRUE(t.push(block(0, 2, {0, 0}, kHostAll, 10)).ok());  // The step is closed by now.
  EXPECT_EQ(t.repeats(), 4u);
  EXPECT_EQ(read(t, 0, {0, 1}), (Floats{11, 11, 11, 11}));
}

// In ranges [1,3) the block replaces what shard 0 pushed; its ranges 0 and 3 stay.
TEST(TableHost, ABlockForOtherRangesTakesThePlaceThereAlone) {
  for (const auto kind : {TableSpec::Kind::kSparse, TableSpec::Kind::kDense}) {
    TableHost t = host(Consistency::sync(), 2, kind);
    const bool dense = kind == TableSpec::Kind::kDense;
    const auto frame = [&](std::uint32_t shard, std::uint8_t log2, RangeSpan ranges, float value) {
      Frame made = block(shard, log2, {0, 0}, ranges, value);
      if (!dense) return made;
      made.first = Bytes::of(std::vector<std::uint64_t>{ranges.begin * 10u});
      made.second = Bytes::of(Floats(ranges.size() * 10u, value));
      return made;
    };
    EXPECT_TRUE(t.push(frame(0, 0, kHostAll, 1)).ok());
    EXPECT_TRUE(t.push(frame(0, 1, {1, 3}, 3)).ok());
    EXPECT_EQ(t.clock(ShardId{0}), (Step{0, 1}));
    EXPECT_EQ(t.clock(ShardId{1}), (Step{0, 0}));
    EXPECT_TRUE(t.push(frame(1, 0, kHostAll, 2)).ok());
    for (std::uint16_t range = 0; range < kHostRanges; ++range) {
      std::vector<std::uint64_t> keys{key_in(range)};
      if (dense) keys = {range * 10u + 5u};
      Floats row(1);
      t.table().read(keys, row);
      EXPECT_EQ(row, Floats{3}) << range;
    }
  }
}

TEST(TableHost, ABlockEndsTheEpochOfAllItsShards) {
  TableHost t = host(Consistency::sync(), 2);
  EXPECT_TRUE(t.push(push(0, {0, 0}, kHostAll, 1)).ok());
  EXPECT_TRUE(t.push(push(0, {0, 1}, kHostAll, 0, frame_flags::kEndOfEpoch)).ok());
  EXPECT_TRUE(t.push(block(0, 1, {0, 0}, kHostAll, 3)).ok());
  EXPECT_TRUE(t.push(block(0, 1, {0, 1}, kHostAll, 0, frame_flags::kEndOfEpoch)).ok());
  EXPECT_EQ(t.clock(ShardId{0}), (Step{1, 0}));
  EXPECT_EQ(t.clock(ShardId{1}), (Step{1, 0}));
}

TEST(TableHost, BlocksAreForSyncModeAlone) {
  for (const Consistency mode : {Consistency::async(), Consistency::bounded(3)}) {
    TableHost t = host(mode, 2);
    EXPECT_EQ(t.push(block(0, 1, {0, 0}, kHostAll, 3)).code(), Code::kRefused);
    EXPECT_EQ(t.clock(ShardId{0}), (Step{0, 0}));
  }
}

}  // namespace
}  // namespace thalweg
