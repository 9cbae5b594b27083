// Ranges of a table that go from one host to another with all that is known of them.
#include <gtest/gtest.h>

#include <iterator>

#include "base/random.h"
#include "server/table_host.h"

namespace thalweg {
namespace {

constexpr std::uint16_t kRanges = 4;
constexpr RangeSpan kAll{0, kRanges};
using Floats = std::vector<float>;

TableSpec spec_of(TableSpec::Kind kind, RuleKind rule = RuleKind::kAdd) {
  TableSpec spec;
  spec.kind = kind;
  spec.name = std::string("t");
  spec.rows = kind == TableSpec::Kind::kDense ? 40 : 0;
  spec.ranges = kRanges;
  spec.rule.kind = rule;
  spec.rule.initial_accumulator = 0.1f;
  return spec;
}

TableHost host(const TableSpec& spec, const RangeSet& owned, std::uint32_t shards,
               Consistency consistency = Consistency::sync()) {
  return TableHost(*make_table(spec, owned), consistency, shards);
}

// A key in the middle of each range; dense: all of their rows.
Payload keys_of(const TableSpec& spec, RangeSpan ranges) {
  if (spec.kind == TableSpec::Kind::kDense)
    return {Bytes::of(std::vector<std::uint64_t>{ranges.begin * 10u, ranges.size() * 10u}), {}};
  std::vector<std::uint64_t> keys;
  for (std::uint16_t range = ranges.begin; range < ranges.end; ++range)
    keys.push_back(range_first_key(range, kRanges) + 12345);
  return {Bytes::of(std::move(keys)), {}};
}

Frame pull(const TableSpec& spec, std::uint32_t shard, Step step, RangeSpan ranges) {
  Frame frame;
  frame.head.op = Op::kPull;
  frame.head.shard = ShardId{shard};
  frame.head.step = step;
  frame.head.ranges = ranges;
  frame.first = keys_of(spec, ranges).keys;
  return frame;
}

Frame push(const TableSpec& spec, std::uint32_t shard, Step step, RangeSpan ranges, float value,
           std::uint8_t flags = 0) {
  Frame frame = pull(spec, shard, step, ranges);
  frame.head.op = Op::kPush;
  frame.head.flags = flags;
  frame.second = Bytes::of(Floats(keys_of(spec, ranges).rows(spec), value));
  if (spec.kind == TableSpec::Kind::kDense) frame.first = frame.first.part(0, 8);
  return frame;
}

Floats rows_of(TableHost& host, const TableSpec& spec, std::uint32_t shard, Step step, RangeSpan ranges) {
  const auto rows = host.pull(pull(spec, shard, step, ranges));
  EXPECT_TRUE(rows.ok()) << rows.status().message();
  if (!rows) return {};
  const auto floats = rows->as<float>();
  return {floats.begin(), floats.end()};
}

RangeSet one(std::uint16_t range) { return {range, static_cast<std::uint16_t>(range + 1)}; }

constexpr TableSpec::Kind kKinds[] = {TableSpec::Kind::kSparse, TableSpec::Kind::kDense};

TEST(HandOver, MovesRowsMarksAndOpenSteps) {
  for (const auto kind : kKinds) {
    const TableSpec spec = spec_of(kind);
    TableHost from = host(spec, kAll, 2), to = host(spec, {}, 2);
    for (std::uint32_t shard = 0; shard < 2; ++shard)
      EXPECT_TRUE(from.push(push(spec, shard, {0, 0}, kAll, 1)).ok());
    EXPECT_TRUE(from.push(push(spec, 0, {0, 1}, kAll, 5)).ok());
    EXPECT_TRUE(to.adopt(from.give_up(RangeSpan{1, 3})).ok());
    EXPECT_EQ(text_of(from.owned()), "[0,1) [3,4)");
    EXPECT_EQ(text_of(to.owned()), "[1,3)");
    for (TableHost* of : {&from, &to}) {
      EXPECT_EQ(of->clock(ShardId{0}), (Step{0, 2}));
      EXPECT_EQ(of->clock(ShardId{1}), (Step{0, 1}));
      EXPECT_EQ(of->marks(ShardId{0}).reach, (Step{0, 2}));
      EXPECT_EQ(of->steps_open(), 1u);
    }
    EXPECT_TRUE(to.push(push(spec, 0, {0, 1}, {1, 3}, 5)).ok());  // A repeat of what the other had.
    EXPECT_EQ(to.repeats(), 1u);
    EXPECT_TRUE(to.push(push(spec, 1, {0, 1}, {1, 3}, 7)).ok());
    EXPECT_EQ(to.steps_open(), 0u);
    EXPECT_EQ(from.steps_open(), 1u);
    EXPECT_EQ(rows_of(to, spec, 1, {0, 2}, {1, 2}), Floats(keys_of(spec, {1, 2}).rows(spec), 14));
    for (const RangeSpan rest : {RangeSpan{0, 1}, RangeSpan{3, 4}})
      EXPECT_TRUE(from.push(push(spec, 1, {0, 1}, rest, 7)).ok());
    EXPECT_EQ(rows_of(from, spec, 1, {0, 2}, {3, 4}), Floats(keys_of(spec, {3, 4}).rows(spec), 14));
  }
}

TEST(HandOver, WhoeverGaveARangeUpAnswersForItNoMore) {
  for (const auto kind : kKinds) {
    const TableSpec spec = spec_of(kind);
    TableHost from = host(spec, kAll, 1);
    const auto given = from.give_up(one(2));
    ASSERT_EQ(given.size(), 1u);
    const std::uint64_t digest = from.table().digest();
    EXPECT_EQ(from.push(push(spec, 0, {0, 0}, kAll, 1)).code(), Code::kRefused);
    EXPECT_EQ(from.push(push(spec, 0, {0, 0}, {2, 3}, 1)).code(), Code::kRefused);
    EXPECT_EQ(from.pull(pull(spec, 0, {0, 0}, {1, 3})).status().code(), Code::kRefused);
    EXPECT_EQ(from.table().digest(), digest);
    EXPECT_TRUE(from.push(push(spec, 0, {0, 0}, {0, 2}, 1)).ok());
    EXPECT_EQ(from.clock(ShardId{0}), (Step{0, 0}));
    EXPECT_TRUE(from.push(push(spec, 0, {0, 0}, {3, 4}, 1)).ok());
    EXPECT_EQ(from.clock(ShardId{0}), (Step{0, 1}));
  }
}

// The new owner is a step ahead of the range that comes, and its clock falls back.
TEST(HandOver, ARangeThatIsBehindIsWaitedFor) {
  const TableSpec spec = spec_of(TableSpec::Kind::kSparse);
  TableHost from = host(spec, RangeSpan{2, 4}, 2), to = host(spec, RangeSpan{0, 2}, 2);
  for (std::uint32_t shard = 0; shard < 2; ++shard) {
    EXPECT_TRUE(to.push(push(spec, shard, {0, 0}, {0, 2}, 1)).ok());
  }
  EXPECT_TRUE(from.push(push(spec, 0, {0, 0}, {2, 4}, 1)).ok());
  EXPECT_EQ(to.clock(ShardId{1}), (Step{0, 1}));
  EXPECT_TRUE(to.adopt(from.give_up(one(2))).ok());
  EXPECT_EQ(to.clock(ShardId{1}), (Step{0, 0}));
  EXPECT_EQ(to.pull(pull(spec, 0, {0, 1}, {0, 3})).status().code(), Code::kRetry);
  EXPECT_EQ(to.push(push(spec, 1, {0, 0}, {0, 3}, 1)).code(), Code::kOk);  // New for range 2 alone.
  EXPECT_EQ(rows_of(to, spec, 0, {0, 1}, {0, 3}), (Floats{2, 2, 2}));
}

// A pull that was answered before some of its ranges moved is asked again, cut otherwise, when the step is
// closed: its keys have the rows that they had.
TEST(HandOver, AStepThatComesAgainReadsTheSameRows) {
  for (const auto kind : kKinds) {
    const TableSpec spec = spec_of(kind);
    TableHost from = host(spec, RangeSpan{1, 4}, 2), to = host(spec, one(0), 2);
    for (std::uint32_t shard = 0; shard < 2; ++shard) {
      EXPECT_TRUE(from.push(push(spec, shard, {0, 0}, {1, 4}, 1)).ok());
      EXPECT_TRUE(to.push(push(spec, shard, {0, 0}, {0, 1}, 1)).ok());
    }
    const Floats seen = rows_of(from, spec, 0, {0, 1}, {1, 4});
    EXPECT_EQ(seen, Floats(seen.size(), 2));
    for (std::uint32_t shard = 0; shard < 2; ++shard)
      EXPECT_TRUE(from.push(push(spec, shard, {0, 1}, {1, 4}, 10)).ok());
    EXPECT_TRUE(to.adopt(from.give_up(RangeSpan{1, 3})).ok());
    const std::size_t width = keys_of(spec, {0, 1}).rows(spec);
    EXPECT_EQ(rows_of(to, spec, 0, {0, 1}, {0, 3}), Floats(3 * width, 2));  // Range 0 is not closed yet.
    EXPECT_EQ(rows_of(from, spec, 0, {0, 1}, {3, 4}), Floats(width, 2));
    for (std::uint32_t shard = 0; shard < 2; ++shard)
      EXPECT_TRUE(to.push(push(spec, shard, {0, 1}, {0, 1}, 10)).ok());
    EXPECT_EQ(rows_of(to, spec, 1, {0, 2}, {0, 3}), Floats(3 * width, 22));
    EXPECT_EQ(rows_of(to, spec, 0, {0, 1}, {0, 3}), Floats(3 * width, 2));
  }
}

TEST(HandOver, KeepsTheAnswersToTheNewestStepsAlone) {
  const TableSpec spec = spec_of(TableSpec::Kind::kSparse);
  TableHost from = host(spec, RangeSpan{2, 4}, 1), to = host(spec, RangeSpan{0, 2}, 1);
  for (std::uint32_t step = 0; step < 4; ++step) {
    rows_of(from, spec, 0, {0, step}, {2, 4});
    rows_of(to, spec, 0, {0, step}, {0, 2});
    EXPECT_TRUE(from.push(push(spec, 0, {0, step}, {2, 4}, 1)).ok());
    EXPECT_TRUE(to.push(push(spec, 0, {0, step}, {0, 2}, 1)).ok());
  }
  EXPECT_TRUE(to.adopt(from.give_up(RangeSpan{2, 4})).ok());
  EXPECT_EQ(from.replies_remembered(), 0u);
  EXPECT_EQ(to.replies_remembered(), 3u * limits::kStepsInFlightSync);
  EXPECT_TRUE(from.owned().empty());
}

TEST(HandOver, ABlockTakesThePlaceOfWhatCameElsewhere) {
  const TableSpec spec = spec_of(TableSpec::Kind::kSparse);
  TableHost from = host(spec, RangeSpan{2, 4}, 2), to = host(spec, RangeSpan{0, 2}, 2);
  EXPECT_TRUE(from.push(push(spec, 0, {0, 0}, {2, 4}, 1)).ok());
  EXPECT_TRUE(to.adopt(from.give_up(RangeSpan{2, 4})).ok());
  Frame block = push(spec, 0, {0, 0}, kAll, 3);
  block.head.block = 1;
  EXPECT_TRUE(to.push(block).ok());
  EXPECT_EQ(rows_of(to, spec, 0, {0, 1}, kAll), (Floats{3, 3, 3, 3}));
}

TEST(HandOver, AnEndOfEpochMovesToo) {
  const TableSpec spec = spec_of(TableSpec::Kind::kSparse);
  TableHost from = host(spec, kAll, 1, Consistency::async()), to = host(spec, {}, 1, Consistency::async());
  EXPECT_TRUE(from.push(push(spec, 0, {0, 1}, kAll, 1, frame_flags::kEndOfEpoch)).ok());
  EXPECT_TRUE(to.adopt(from.give_up(kAll)).ok());
  EXPECT_EQ(to.push(push(spec, 0, {0, 2}, kAll, 1)).code(), Code::kRefused);
  EXPECT_TRUE(to.push(push(spec, 0, {0, 0}, kAll, 1)).ok());
  EXPECT_EQ(to.clock(ShardId{0}), (Step{1, 0}));
  EXPECT_EQ(rows_of(to, spec, 0, {1, 0}, kAll), (Floats{2, 2, 2, 2}));
}

// Two hosts that exchange ranges at random hold together what one holds that has all, whatever comes twice.
TEST(HandOver, RandomMovesChangeNoBit) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Random random(seed);
    const TableSpec spec = spec_of(kKinds[seed % 2], RuleKind::kAdagrad);
    constexpr std::uint32_t kShards = 3;
    TableHost whole = host(spec, kAll, kShards);
    TableHost parts[2] = {host(spec, RangeSpan{0, 2}, kShards), host(spec, RangeSpan{2, 4}, kShards)};
    for (std::uint32_t step = 0; step < 12; ++step) {
      for (std::uint32_t shard = 0; shard < kShards; ++shard) {
        const auto value = static_cast<float>(random.unit() - 0.5);
        ASSERT_TRUE(whole.push(push(spec, shard, {0, step}, kAll, value)).ok());
        for (std::uint16_t r = 0; r < kRanges; ++r) {
          const RangeSpan only{r, static_cast<std::uint16_t>(r + 1)};
          for (int times = random.chance(0.3) ? 2 : 1; times > 0; --times) {
            TableHost& owner = parts[parts[0].owned().contains(only) ? 0 : 1];
            ASSERT_TRUE(owner.push(push(spec, shard, {0, step}, only, value)).ok());
            if (!random.chance(0.3)) continue;
            const auto moved = static_cast<std::uint16_t>(random.below(kRanges));
            const bool first = parts[0].owned().contains(RangeId{moved});
            ASSERT_TRUE(parts[first ? 1 : 0].adopt(parts[first ? 0 : 1].give_up(one(moved))).ok());
          }
        }
      }
      ASSERT_EQ(parts[0].table().digest() + parts[1].table().digest(), whole.table().digest())
          << "seed " << seed << " step " << step;
    }
  }
}

}  // namespace
}  // namespace thalweg
