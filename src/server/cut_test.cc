// Rows of a table as they are at a step boundary, and work that goes on from there.
#include <gtest/gtest.h>

#include "server/job_for_test.h"

namespace thalweg {
namespace {

// Each shard's push to all ranges, a function of shard and step alone.
Frame push_of(const Job& job, std::uint32_t shard, Step step, std::uint8_t flags = 0) {
  Random random = Random(step.epoch * 1000 + step.index).split(shard);
  Frame frame;
  frame.head.op = Op::kPush;
  frame.head.shard = ShardId{shard};
  frame.head.step = step;
  frame.head.ranges = kAll;
  frame.head.flags = flags;
  fill_push(random, job, draw_keys(random, job, kAll), frame);
  return frame;
}

Job lockstep_job(Random& random) {
  Job job = draw_job(random);
  job.consistency = Consistency::sync();
  return job;
}

void push_all(const Job& job, TableHost& host, Step from, std::uint32_t end) {
  for (Step step = from; step.index < end; step = step.next()) {
    for (std::uint32_t shard = 0; shard < kShards; ++shard)
      ASSERT_TRUE(host.push(push_of(job, shard, step)).ok());
  }
}

TableCut whole_cut(TableHost& host, std::size_t bytes = 64) {
  TableCut cut = host.take_cut();
  while (auto rows = host.next_of_cut(bytes)) cut.entries.push_back(*std::move(rows));
  return cut;
}

TableHost begin_with(const Job& job, const std::vector<LoadEntry>& cut, Step first) {
  TableHost host(*make_table(job.spec, kAll), job.consistency, kShards, first);
  for (const LoadEntry& entry : cut) {
    Frame load;
    load.head.op = Op::kLoad;
    load.head.ranges = only(entry.range);
    load.first = entry.rows.keys;
    load.second = entry.rows.values;
    const Status loaded = host.load(load);
    EXPECT_TRUE(loaded.ok()) << loaded.message();
  }
  return host;
}

// What comes behind the boundary in the same moment is not in it; from it the rest leads to the same bits.
TEST(Cut, HasTheStepsBeforeItAndNoOther) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Random random(seed);
    const Job job = lockstep_job(random);
    TableHost straight = job.host(kAll), host = job.host(kAll);
    push_all(job, straight, {}, 9);
    const Step at{0, static_cast<std::uint32_t>(1 + random.below(8))};
    ASSERT_TRUE(host.cut_before(at));
    for (std::uint32_t index = 0; index < 9;
         ++index) {  // The last shard comes late, and closes many steps in turn.
      for (std::uint32_t shard = 0; shard + 1 < kShards; ++shard)
        ASSERT_TRUE(host.push(push_of(job, shard, {0, index})).ok());
    }
    for (std::uint32_t index = 8; index > 0; --index)
      ASSERT_TRUE(host.push(push_of(job, kShards - 1, {0, index})).ok());
    EXPECT_FALSE(host.has_cut());
    ASSERT_TRUE(host.push(push_of(job, kShards - 1, {0, 0})).ok());
    ASSERT_TRUE(host.has_cut());
    EXPECT_EQ(host.applied(), (Step{0, 9}));
    EXPECT_EQ(host.table().digest(), straight.table().digest());
    const std::vector<LoadEntry> cut = whole_cut(host).entries;
    EXPECT_FALSE(host.has_cut());

    TableHost before = job.host(kAll), resumed = begin_with(job, cut, at);
    push_all(job, before, {}, at.index);
    EXPECT_EQ(resumed.table().digest(), before.table().digest()) << seed;
    EXPECT_EQ(resumed.clock(ShardId{0}), at);
    EXPECT_EQ(resumed.push(push_of(job, 0, {0, at.index - 1})).code(), Code::kOk) << "a repeat";
    EXPECT_EQ(resumed.repeats(), 1u);
    push_all(job, resumed, at, 9);
    EXPECT_EQ(resumed.table().digest(), straight.table().digest()) << seed;
  }
}

TEST(Cut, IsTakenAtOnceAtItsStepAndNeverBehindIt) {
  Random random(7);
  const Job job = lockstep_job(random);
  TableHost host = job.host(kAll);
  push_all(job, host, {}, 3);
  EXPECT_FALSE(host.cut_before({0, 2}));
  EXPECT_FALSE(host.has_cut());
  EXPECT_TRUE(host.cut_before({0, 3}));
  EXPECT_TRUE(host.has_cut());
  EXPECT_TRUE(host.cut_before({0, 5})) << "a later wish";
  EXPECT_FALSE(host.has_cut());
}

// A boundary beyond the end of a pass is that end.
TEST(Cut, BeyondAPassIsItsEnd) {
  Random random(9);
  const Job job = lockstep_job(random);
  TableHost host = job.host(kAll), whole = job.host(kAll);
  ASSERT_TRUE(host.cut_before({0, 100}));
  for (TableHost* const of : {&host, &whole}) {
    push_all(job, *of, {}, 4);
    for (std::uint32_t shard = 0; shard < kShards; ++shard) {
      Frame end = push_of(job, shard, {0, 4}, frame_flags::kEndOfEpoch);
      end.first = end.second = {};
      ASSERT_TRUE(of->push(end).ok());
    }
  }
  ASSERT_TRUE(host.has_cut());
  EXPECT_EQ(host.applied(), (Step{1, 0}));
  TableHost resumed = begin_with(job, whole_cut(host).entries, {0, 100});
  EXPECT_EQ(resumed.table().digest(), whole.table().digest());
  for (std::uint32_t shard = 0; shard < kShards; ++shard) {
    Frame end = push_of(job, shard, {0, 100}, frame_flags::kEndOfEpoch);
    end.first = end.second = {};
    ASSERT_TRUE(resumed.push(end).ok());
  }
  EXPECT_EQ(resumed.applied(), (Step{1, 0}));
}

TEST(Cut, RowsComeBeforeTheFirstPushAlone) {
  Random random(3);
  const Job job = lockstep_job(random);
  TableHost host = begin_with(job, {}, {2, 5});
  ASSERT_TRUE(host.push(push_of(job, 1, {2, 5})).ok());
  Frame load;
  load.head.op = Op::kLoad;
  load.head.ranges = only(RangeId{0});
  EXPECT_EQ(host.load(load).code(), Code::kRefused);
}

Job job_of_marks(Random& random) {
  Job job = draw_job(random);
  while (job.consistency.kind == Consistency::Kind::kSync) job = draw_job(random);
  return job;
}

Frame frame_of(RangeId range) {
  Frame frame;
  frame.head.op = Op::kLoad;
  frame.head.ranges = only(range);
  return frame;
}

// Begins with what a cut has, each frame of it twice.
TableHost begin_with_all(const Job& job, const TableCut& cut) {
  TableHost host = begin_with(job, cut.entries, {});
  for (const RangeState& state : cut.states) {
    Frame begin = frame_of(state.range);
    begin.head.flags = frame_flags::kState;
    begin.first = encode(state);
    for (int times = 0; times < 2; ++times) EXPECT_EQ(host.begin(begin).message(), "");
  }
  return host;
}

void push_some(Random& random, const Job& job, TableHost& host, int pushes, TableHost* other = nullptr) {
  for (int i = 0; i < pushes; ++i) {
    const Frame push = draw_request(random, job, host, Op::kPush);
    const Status status = host.push(push);
    if (other != nullptr) {
      ASSERT_EQ(other->push(push).code(), status.code()) << status.message();
    }
  }
}

// Where pushes count as they come: from a cut at any moment a host goes on as if it had been there.
TEST(Cut, OfOtherModesHasWhatHasCome) {
  std::size_t cuts = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Random random(seed);
    const Job job = job_of_marks(random);
    TableHost host = job.host(kAll);
    push_some(random, job, host, static_cast<int>(random.below(150)));
    if (host.cut_clock() == kEndOfWork) {
      EXPECT_FALSE(host.cut_before({0, 1})) << "a longer training could not go on from there";
      continue;
    }
    ASSERT_TRUE(host.cut_before(host.cut_clock()));
    ASSERT_TRUE(host.has_cut());
    const TableCut cut = whole_cut(host);
    EXPECT_EQ(cut.states.size(), kRanges);
    TableHost resumed = begin_with_all(job, cut);
    for (std::uint32_t shard = 0; shard < kShards; ++shard) {
      EXPECT_EQ(resumed.clock(ShardId{shard}), host.clock(ShardId{shard}));
      EXPECT_EQ(resumed.marks(ShardId{shard}), host.marks(ShardId{shard}));
    }
    push_some(random, job, host, 150, &resumed);
    EXPECT_EQ(resumed.table().digest(), host.table().digest()) << seed;
    ++cuts;
  }
  EXPECT_GT(cuts, 100u);
}

TEST(Cut, OfOtherModesWaitsForTheSlowestAndTakesWhatIsThereThen) {
  Random random(5);
  Job job = job_of_marks(random);
  job.consistency = Consistency::async();
  TableHost host = job.host(kAll);
  ASSERT_TRUE(host.cut_before({0, 2}));
  push_all(job, host, {}, 1);
  for (std::uint32_t index = 1; index < 4; ++index) ASSERT_TRUE(host.push(push_of(job, 0, {0, index})).ok());
  EXPECT_FALSE(host.has_cut());
  for (std::uint32_t shard = 1; shard < kShards; ++shard)
    ASSERT_TRUE(host.push(push_of(job, shard, {0, 1})).ok());
  ASSERT_TRUE(host.has_cut());
  TableHost resumed = begin_with_all(job, whole_cut(host));
  EXPECT_EQ(resumed.table().digest(), host.table().digest());
  EXPECT_EQ(resumed.clock(ShardId{0}), (Step{0, 4}));
  EXPECT_EQ(resumed.clock(ShardId{1}), (Step{0, 2}));
}

TEST(Cut, WhatIsKnownOfARangeComesBeforeItsPushes) {
  Random random(11);
  Job job = job_of_marks(random);
  job.consistency = Consistency::async();
  TableHost host = job.host(kAll), other = job.host(kAll), none = job.host(kAll);
  push_all(job, host, {}, 3);
  ASSERT_TRUE(host.cut_before({0, 3}));
  const TableCut cut = whole_cut(host);
  Frame begin = frame_of(cut.states[1].range);
  begin.first = encode(cut.states[1]);
  push_all(job, other, {}, 1);
  EXPECT_EQ(other.begin(begin).code(), Code::kRefused);
  begin.head.ranges = only(RangeId{0});
  EXPECT_EQ(none.begin(begin).code(), Code::kRefused) << "another range";
  begin.head.ranges = only(RangeId{1});
  begin.first = begin.first.part(0, begin.first.size() - 1);
  EXPECT_EQ(none.begin(begin).code(), Code::kRefused) << "cut off";
  job.consistency = Consistency::sync();
  TableHost lockstep = job.host(kAll);
  begin.first = encode(cut.states[1]);
  EXPECT_EQ(lockstep.begin(begin).code(), Code::kRefused);
}

}  // namespace
}  // namespace thalweg
