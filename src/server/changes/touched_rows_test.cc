// Cuts that have what has changed since an earlier one: with that one they come to all rows, whatever was
// pushed, moved or came to nothing in between.
#include "server/changes/touched_rows.h"

#include <gtest/gtest.h>

#include <map>

#include "server/job_for_test.h"

namespace thalweg {
namespace {

using RowsByKey = std::map<std::uint64_t, std::vector<float>>;

Frame push_to_some(const Job& job, std::uint32_t shard, Step step) {
  Random random = Random(step.index).split(shard).split(5);
  Frame frame;
  frame.head.op = Op::kPush;
  frame.head.shard = ShardId{shard};
  frame.head.step = step;
  frame.head.ranges = kAll;
  std::vector<std::uint64_t> keys;
  if (job.sparse()) {
    for (std::uint16_t range = 0; range < kRanges; ++range) {
      for (std::uint64_t i = 0; i < 300; ++i) {
        if (random.chance(0.004)) keys.push_back(range_first_key(range, kRanges) + (i << 53));
      }
    }
  } else {
    keys = draw_keys(random, job, kAll);
  }
  fill_push(random, job, std::move(keys), frame);
  return frame;
}

void add_view(RowsByKey& all, std::span<const std::uint64_t> keys, std::span<const float> rows,
              std::size_t width) {
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const auto row = rows.subspan(i * width, width);
    ASSERT_TRUE(all.emplace(keys[i], std::vector<float>(row.begin(), row.end())).second)
        << "a row came twice";
  }
}

RowsByKey rows_now(const Table& table) {
  RowsByKey all;
  for (const RangeSpan run : table.owned().runs()) {
    for (std::uint16_t range = run.begin; range < run.end; ++range)
      table.scan(RangeId{range},
                 [&](const RowsView& view) { add_view(all, view.keys, view.rows, view.width); });
  }
  return all;
}

// A server's table, and what its cuts have come to.
class TouchedJob {
 public:
  explicit TouchedJob(std::uint64_t seed) : random_(seed), job_(draw_job(random_)), host_(make()) {
    kept_[0] = {};
  }

  void push_step() {
    for (std::uint32_t shard = 0; shard < kShards; ++shard)
      ASSERT_TRUE(host_.push(push_to_some(job_, shard, step_)).ok());
    step_ = step_.next();
  }
  void move_some() {
    const RangeSet ranges(draw_ranges(random_));
    TableHost other = job_.host({});
    ASSERT_TRUE(other.adopt(host_.give_up(ranges)).ok());
    for (std::uint32_t shard = 0; shard < kShards; ++shard) {  // Whoever has them meanwhile changes them.
      const Frame push = push_to_some(job_, shard, step_);
      for (TableHost* const of : {&host_, &other}) {
        for (const RangeSpan run : of->owned().runs()) {
          Frame part = push;
          part.head.ranges = run;
          const Payload payload = thalweg::cut(job_.spec, {push.first, push.second}, run);
          part.first = payload.keys, part.second = payload.values;
          ASSERT_TRUE(of->push(part).ok());
        }
      }
    }
    step_ = step_.next();
    ASSERT_TRUE(host_.adopt(other.give_up(ranges)).ok());
  }
  void load_some() {
    if (!job_.sparse() || step_ != Step{}) return;
    Frame load;
    load.head.op = Op::kLoad;
    load.head.ranges = only(RangeId{1});
    load.first = Bytes::of(std::vector<std::uint64_t>{range_first_key(1, kRanges) + 77});
    load.second = Bytes::of(std::vector<float>(job_.spec.dim, 2.0f));
    ASSERT_TRUE(host_.load(load).ok());
  }
  // Pushes go on while it is stored, unless that fails.
  void cut() {
    const std::uint64_t since = random_.chance(0.8) ? base_ : 0;
    ASSERT_TRUE(host_.cut_before(host_.cut_clock(), {++number_, since}));
    ASSERT_TRUE(host_.has_cut());
    const RowsByKey wanted = rows_now(host_.table());
    const TableCut cut = host_.take_cut();
    EXPECT_EQ(cut.rows, wanted.size());
    const bool fails = random_.chance(0.3);
    RowsByKey stored;
    while (auto rows = host_.next_of_cut(1 + random_.below(2000))) {
      add_view(stored, rows->rows.keys.as<std::uint64_t>(), rows->rows.values.as<float>(), rows->width);
      if (fails && random_.chance(0.5)) break;
      if (random_.chance(0.3)) push_step();
    }
    if (fails) return host_.drop_cut();
    if (cut.touched != nullptr) {
      if (job_.sparse()) rows_of_changes_ += stored.size(), all_rows_ += wanted.size();
      for (const auto& [key, row] : kept_.at(since)) {
        if (cut.touched->has(key)) continue;
        ASSERT_TRUE(stored.emplace(key, row).second);
      }
    }
    ASSERT_EQ(stored, wanted) << "cut " << number_;
    kept_[base_ = number_] = std::move(stored);
  }

  Random& random() { return random_; }
  std::size_t rows_of_changes_ = 0, all_rows_ = 0;

 private:
  TableHost make() {
    job_.consistency = Consistency::sync();
    job_.spec.init = {InitSpec::Kind::kUniform, 0.5f};
    return job_.host(kAll);
  }
  Random random_;
  Job job_;
  TableHost host_;
  Step step_;
  std::uint64_t number_ = 0, base_ = 0;
  std::map<std::uint64_t, RowsByKey> kept_;
};

TEST(TouchedRows, WithTheCutBeforeComeToAllRows) {
  std::size_t changes = 0, all = 0;
  for (std::uint64_t seed = 1; seed <= 80; ++seed) {
    TouchedJob job(seed);
    job.load_some();
    for (int i = 0; i < 14; ++i) {
      for (std::uint64_t steps = job.random().below(4); steps > 0; --steps) job.push_step();
      if (job.random().chance(0.15)) job.move_some();
      if (job.random().chance(0.7)) job.cut();
      if (testing::Test::HasFatalFailure()) FAIL() << "seed " << seed;
    }
    changes += job.rows_of_changes_, all += job.all_rows_;
  }
  EXPECT_GT(changes, 1000u);
  EXPECT_LT(changes * 3, all * 2) << "rows that have not changed are left out";
}

}  // namespace
}  // namespace thalweg
