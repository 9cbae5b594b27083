#include "server/chain/redo_log.h"

#include <gtest/gtest.h>

#include "server/table_host.h"

namespace thalweg {
namespace {

TableSpec redo_spec() {
  TableSpec spec;
  spec.name = "t";
  spec.rule.kind = RuleKind::kFtrl;
  return spec;
}

Payload change_of(std::size_t rows) {
  std::vector<std::uint64_t> keys;
  for (std::uint64_t i = 0; i < rows; ++i) keys.push_back(i * (~std::uint64_t{0} / rows));
  return {Bytes::of(std::move(keys)), Bytes::of(std::vector<float>(rows, 0.5f))};
}

TEST(RedoLog, LeavesTheNewestSteps) {
  RedoLog log;
  for (const std::uint32_t step : {3u, 4u, 4u, 7u, 8u}) log.add({0, step}, {0, 1}, change_of(10));
  std::vector<std::uint32_t> redone;
  const auto note = [&](Step step, RangeSpan, const Payload&) { redone.push_back(step.index); };
  log.redo(2, note);
  EXPECT_EQ(redone, (std::vector<std::uint32_t>{3, 4, 4}));
  EXPECT_GT(log.bytes(), 2 * 10 * 12u);
  log.redo(2, note);
  EXPECT_EQ(redone.size(), 3u);
  log.redo(0, note);
  EXPECT_EQ(redone, (std::vector<std::uint32_t>{3, 4, 4, 7, 8}));
  EXPECT_EQ(log.bytes(), 0u);
}

// A copy leaves changes out of its rows, and no more than there is a bound for.
TEST(RedoLog, OfACopyHasABound) {
  for (const Consistency consistency : {Consistency::sync(), Consistency::async()}) {
    const RangeSpan everywhere{0, redo_spec().ranges};
    TableHost owner(*make_table(redo_spec(), everywhere), consistency, 1);
    TableHost copy(*make_table(redo_spec(), everywhere), consistency, 1);
    owner.log_changes({everywhere});
    const Payload change = change_of(100'000);
    std::size_t told = 0;
    for (std::uint32_t step = 0; told < limits::kRedoBytesMax * 5 / 2; ++step) {
      Frame push;
      push.head.op = Op::kPush;
      push.head.step = {0, step};
      push.head.ranges = everywhere;
      push.first = change.keys, push.second = change.values;
      ASSERT_TRUE(owner.push(push).ok());
      for (LogEntry& entry : owner.take_log()) ASSERT_TRUE(copy.replay(std::move(entry)).ok());
      told += push.size_bytes();
      ASSERT_LE(copy.bytes_to_redo(), limits::kRedoBytesMax);
      ASSERT_EQ(copy.bytes_to_redo() > 0, copy.table().digest() != owner.table().digest()) << step;
    }
    EXPECT_GT(copy.stats().rows, 0u);
    EXPECT_GT(copy.bytes_to_redo(), 0u);
    copy.redo(0);
    EXPECT_EQ(copy.table().digest(), owner.table().digest());
  }
}

}  // namespace
}  // namespace thalweg
