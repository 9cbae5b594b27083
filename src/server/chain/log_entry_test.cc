#include "server/chain/log_entry.h"

#include <gtest/gtest.h>

namespace thalweg {
namespace {

constexpr std::uint32_t kLogShards = 4;

TableSpec logged_spec() {
  TableSpec spec;
  spec.name = "t";
  spec.ranges = 8;
  return spec;
}

Payload logged_rows(std::uint64_t from, std::size_t count) {
  std::vector<std::uint64_t> keys;
  for (std::uint64_t i = 0; i < count; ++i) keys.push_back(from + i);
  return {Bytes::of(std::move(keys)), Bytes::of(std::vector<float>(count, 0.5f))};
}

StepEntry step_of_two_sums() {
  StepEntry step{{0, 3}, {0, 2}, {{{0, 1}, logged_rows(5, 3)}, {{0, 2}, logged_rows(7, 4)}}, {}};
  PushEntry arrival;
  arrival.shard = ShardId{1};
  arrival.step = {0, 2};
  arrival.ranges = step.ranges;
  arrival.fresh.add({0, 1});
  step.arrivals.push_back(arrival);
  return step;
}

PushEntry logged_push() {
  PushEntry push;
  push.shard = ShardId{2};
  push.shards = 2;
  push.step = {1, 5};
  push.ranges = {0, 1};
  push.fresh.add(push.ranges);
  push.payload = logged_rows(9, 100);
  return push;
}

// All that it pushed was known: its marks alone go on, and the padding ends the first segment.
LogEntry push_of_nothing() {
  PushEntry push = logged_push();
  push.payload = {};
  return push;
}

BeginEntry begin_of_marks() {
  BeginEntry begin;
  begin.state.range = RangeId{3};
  begin.state.marks = {Mark({0, 4}), Mark({0, 5}), Mark(), Mark({1, 0})};
  begin.state.reached.resize(kLogShards, {{0, 4}, {1, 0}, true});
  begin.state.replies.resize(kLogShards);
  return begin;
}

bool shares(const Bytes& part, const Bytes& whole) {
  return part.span().data() >= whole.span().data() &&
         part.span().data() + part.size() <= whole.span().data() + whole.size();
}

TEST(LogEntry, SharesWhatItHolds) {
  const PushEntry push = logged_push();
  const EntrySegments bytes = encode(push);
  EXPECT_EQ(bytes.second.span().data(), push.payload.values.span().data());
  const auto entry = decode_log_entry(bytes, logged_spec(), kLogShards);
  ASSERT_TRUE(entry);
  const Payload& read = std::get<PushEntry>(*entry).payload;
  EXPECT_TRUE(shares(read.keys, bytes.first));
  EXPECT_TRUE(shares(read.values, bytes.second));
  EXPECT_EQ(read.keys.text(), push.payload.keys.text());
}

TEST(LogEntry, ReadsBackAsItWasWritten) {
  const LogEntry entries[] = {logged_push(), push_of_nothing(), step_of_two_sums(),
                              LoadEntry{RangeId{0}, 1, logged_rows(1, 6)}, begin_of_marks()};
  for (const LogEntry& entry : entries) {
    const EntrySegments bytes = encode(entry);
    const auto read = decode_log_entry(bytes, logged_spec(), kLogShards);
    ASSERT_TRUE(read) << entry.index();
    EXPECT_EQ(read->index(), entry.index());
    EXPECT_EQ(encode(*read), bytes) << entry.index();
  }
}

TEST(LogEntry, OfWhatARangeBeginsWithHasNoRows) {
  BeginEntry begin = begin_of_marks();
  begin.state.keys = {5};
  begin.state.rows = {1.0f};
  EXPECT_FALSE(decode_log_entry(encode(begin), logged_spec(), kLogShards));
  begin = begin_of_marks();
  begin.state.range = RangeId{8};
  EXPECT_FALSE(decode_log_entry(encode(begin), logged_spec(), kLogShards)) << "the table has 8";
}

TEST(LogEntry, IsNothingWhereAPartIsMissingOrTooMuch) {
  const LogEntry entries[] = {logged_push(), push_of_nothing(), step_of_two_sums(),
                              LoadEntry{RangeId{0}, 1, logged_rows(1, 6)}, begin_of_marks()};
  for (const LogEntry& entry : entries) {
    const EntrySegments whole = encode(entry);
    for (std::size_t size = 0; size < whole.first.size(); ++size)
      EXPECT_FALSE(decode_log_entry({whole.first.part(0, size), whole.second}, logged_spec(), kLogShards))
          << size;
    for (std::size_t size = 0; size < whole.second.size(); ++size)
      EXPECT_FALSE(decode_log_entry({whole.first, whole.second.part(0, size)}, logged_spec(), kLogShards))
          << size;
    for (const std::size_t more : {1u, 4u, 8u}) {
      const std::string zeros(more, '\0');
      const EntrySegments longer{Bytes::of(std::string(whole.first.text()) + zeros), whole.second};
      const EntrySegments wider{whole.first, Bytes::of(std::string(whole.second.text()) + zeros)};
      EXPECT_FALSE(decode_log_entry(longer, logged_spec(), kLogShards)) << more;
      EXPECT_FALSE(decode_log_entry(wider, logged_spec(), kLogShards)) << more;
    }
  }
}

}  // namespace
}  // namespace thalweg
