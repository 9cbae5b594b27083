// A copy that has been given a part of a host's log takes over: once what had been pushed since has come
// again it is as the host was, and shows the shards' heirs what the host had shown.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <string>

#include "base/check.h"
#include "server/job_for_test.h"

namespace thalweg {
namespace {

struct Shown {
  Frame pull;
  Bytes rows;
};

// A host with what has come to it, and what it has logged.
struct Original {
  explicit Original(Random& random, int requests = 120) : job(draw_copied(random)), host(job.host(kAll)) {
    begin_log(random);
    go_on(random, requests);
  }
  // Logs nothing yet, and what comes is acknowledged for good.
  Original(Job of, Random& random, int requests) : job(std::move(of)), host(job.host(kAll)) {
    go_on(random, requests);
    pushed.clear();
  }

  void begin_log(Random& random) {
    const auto cut = static_cast<std::uint16_t>(1 + random.below(kRanges - 1));
    host.log_changes({{0, cut}, {cut, kRanges}});
  }

  void go_on(Random& random, int requests) {
    for (int i = 0; i < requests; ++i)
      take(draw_request(random, job, host, random.chance(0.7) ? Op::kPush : Op::kPull));
  }

  static Job draw_copied(Random& random) {
    for (;;) {
      Job job = draw_job(random);
      if (keeps_copies(job.consistency)) return job;
    }
  }

  void take(Frame frame) {
    frame.head.block = 0;  // Blocks that are drawn here hold shards that have ended, as no worker's do.
    if (frame.head.op == Op::kPull) {
      const bool in_time = frame.head.step >= slowest();  // Later no worker asks for the first time.
      const auto rows = host.pull(frame);
      if (rows && in_time && (frame.head.flags & frame_flags::kReadOnly) == 0)
        shown.push_back({frame, *rows});
    } else if (host.push(frame).ok()) {
      pushed.push_back(frame);
    }
    for (const LogEntry& entry : host.take_log()) log.push_back(encode(entry));
  }

  Step slowest() const {
    Step slowest = kEndOfWork;
    for (std::uint32_t s = 0; s < kShards; ++s) slowest = std::min(slowest, host.clock(ShardId{s}));
    return slowest;
  }
  bool sync() const { return job.consistency.kind == Consistency::Kind::kSync; }

  Job job;
  TableHost host;
  std::vector<Frame> pushed;
  std::vector<Shown> shown;
  std::vector<EntrySegments> log;
};

// What was sent again is left out by whoever has it.
TableHost successor(const Original& original, std::size_t entries, Random& random) {
  TableHost copy = original.job.host(kAll);
  for (std::size_t i = 0; i < entries; ++i) {
    auto entry = decode_log_entry(original.log[i], original.job.spec, kShards);
    THALWEG_CHECK(entry && encode(*entry) == original.log[i], "an entry has one form");
    const int times = random.chance(0.2) ? 2 : 1;
    for (int time = 0; time < times; ++time) EXPECT_TRUE(copy.replay(*entry).ok());
    if (random.chance(0.1)) copy.redo(original.sync() ? random.below(3) : 0);
  }
  TableHost heir = original.job.host({});
  EXPECT_TRUE(heir.take_over(copy, kAll).ok());
  return heir;
}

TEST(ChainCopy, ComesToTheSameWhenWhatItLacksComesAgain) {
  std::size_t entries = 0, lacked = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Random random(seed);
    const Original original(random);
    const std::size_t known = random.below(original.log.size() + 1);
    TableHost heir = successor(original, known, random);
    for (const Frame& push : original.pushed) ASSERT_EQ(heir.push(push), ok_status()) << seed;
    ASSERT_EQ(heir.table().digest(), original.host.table().digest()) << seed;
    entries += original.log.size(), lacked += original.log.size() - known;
  }
  EXPECT_GT(entries, 5000u);
  EXPECT_GT(lacked, 1000u);
}

TEST(ChainCopy, KnowsWhatItsOwnerTellsHeirsToHaveArrived) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Random random(seed);
    const Original original(random);
    TableHost heir = successor(original, original.log.size(), random);
    for (std::uint32_t s = 0; s < kShards; ++s)
      ASSERT_GE(heir.marks(ShardId{s}).low, original.host.marks(ShardId{s}).low) << seed << " " << s;
  }
}

TEST(ChainCopy, ShowsHeirsWhatItsOwnerHadShown) {
  std::size_t compared = 0;
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    Random random(seed);
    Original original(random);
    if (!original.sync()) continue;
    TableHost heir = successor(original, original.log.size(), random);
    const Step closed = original.slowest();
    for (const Shown& shown : original.shown) {
      const Step step = shown.pull.head.step;
      if (step.epoch != closed.epoch || step.index + limits::kStepsInFlightSync < closed.index ||
          step >= closed)
        continue;
      const auto rows = heir.pull(shown.pull);
      ASSERT_TRUE(rows.ok()) << seed;
      ASSERT_EQ(rows->text(), shown.rows.text()) << seed;
      ++compared;
    }
  }
  EXPECT_GT(compared, 200u);
}

// What somebody who has followed from the start would know of a range but for its rows, by way of bytes.
CopyState known_copy(TableHost& host, const Job& job, RangeId range) {
  const CopyState copy = host.copy_state(range);
  auto read = decode_copy_state(encode(copy), job.spec, kShards);
  THALWEG_CHECK(read && encode(*read).text() == encode(copy).text(), "a copy has one form");
  return *std::move(read);
}

// What entries tell copies of a range besides rows.
std::string told_text(TableHost& host, RangeId range) {
  const CopyState all = host.copy_state(range);
  CopyState told{{}, 0, all.copied, all.images};
  told.state.marks = all.state.marks;
  return std::string(encode(told).text());
}

// A range on its way to a joiner, so many rows at once; `meanwhile` is called between pieces.
void send_copy(
    TableHost& host, TableHost& joiner, const Job& job, RangeId range, std::size_t rows_at_once,
    const std::function<void()>& meanwhile = [] {}) {
  ASSERT_TRUE(joiner.begin_copy(known_copy(host, job, range)).ok());
  std::uint64_t from = 0;
  while (joiner.fills_copy(range)) {
    meanwhile();
    const Payload rows = host.copied_rows(range, from, rows_at_once);
    const auto keys = rows.keys.as<std::uint64_t>();
    ASSERT_TRUE(joiner.fill_copy(range, rows, keys.size() < rows_at_once).ok());
    if (!keys.empty()) from = keys.back() + 1;
  }
  meanwhile();
  ASSERT_EQ(digest(joiner.copied_rows(range, 0, ~std::size_t{0})),
            digest(host.copied_rows(range, 0, ~std::size_t{0})));
  ASSERT_EQ(joiner.end_copy(known_copy(host, job, range)), ok_status());
}

// Its ranges come one after the other, some rows at a time, and entries between them.
TEST(ChainCopy, WhoeverJoinsKnowsWhatOneKnowsWhoHasFollowedFromTheStart) {
  std::size_t held_back = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Random random(seed);
    Original original(random, 60);
    TableHost joiner = original.job.host({});
    std::size_t known = original.log.size();
    const auto follow = [&] {
      for (; known < original.log.size(); ++known)
        ASSERT_TRUE(joiner.replay(*decode_log_entry(original.log[known], original.job.spec, kShards)).ok());
    };
    for (std::uint16_t range = 0; range < kRanges; ++range) {
      const RangeState state = original.host.state_of(RangeId{range});
      held_back += !state.open_steps.empty();
      send_copy(original.host, joiner, original.job, RangeId{range}, 1 + random.below(4), [&] {
        original.go_on(random, static_cast<int>(random.below(4)));
        follow();
      });
      original.go_on(random, 12);
      follow();
    }
    TableHost follower = [&] {
      TableHost copy = original.job.host(kAll);
      for (const EntrySegments& entry : original.log)
        EXPECT_TRUE(copy.replay(*decode_log_entry(entry, original.job.spec, kShards)).ok());
      return copy;
    }();
    follower.redo(0), joiner.redo(0);
    for (std::uint16_t range = 0; range < kRanges; ++range) {
      const RangeState one = follower.state_of(RangeId{range}), other = joiner.state_of(RangeId{range});
      ASSERT_EQ(one.marks, other.marks) << seed;
      ASSERT_EQ(one.keys, other.keys) << seed;
      ASSERT_EQ(one.rows, other.rows) << seed;
    }
    TableHost heir = original.job.host({});
    ASSERT_TRUE(heir.take_over(joiner, kAll).ok());
    for (const Frame& push : original.pushed) ASSERT_EQ(heir.push(push), ok_status()) << seed;
    ASSERT_EQ(heir.table().digest(), original.host.table().digest()) << seed;
  }
  EXPECT_GT(held_back, 100u);
}

// Nothing is held back of what had come before, so that nobody sends it again.
TEST(ChainCopy, AHostThatNobodyHasCopiedIsCopiedOnceItsOpenStepsHaveClosed) {
  std::size_t open = 0, copied = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Random random(seed);
    Original original(Original::draw_copied(random), random, 40);
    const std::size_t steps_open = original.host.steps_open();
    original.begin_log(random);
    ASSERT_EQ(original.host.logs_all(), steps_open == 0) << seed;
    for (int i = 0; i < 400 && !original.host.logs_all(); ++i) original.go_on(random, 1);
    if (!original.host.logs_all()) continue;  // Some shard pushes no more.
    open += steps_open > 0, ++copied;
    TableHost joiner = original.job.host({});
    for (std::uint16_t range = 0; range < kRanges; ++range)
      send_copy(original.host, joiner, original.job, RangeId{range}, 3);
    std::size_t known = original.log.size();
    original.go_on(random, 40);
    for (; known < original.log.size(); ++known)
      ASSERT_TRUE(joiner.replay(*decode_log_entry(original.log[known], original.job.spec, kShards)).ok());
    TableHost heir = original.job.host({});
    ASSERT_TRUE(heir.take_over(joiner, kAll).ok());
    for (const Frame& push : original.pushed) ASSERT_EQ(heir.push(push), ok_status()) << seed;
    ASSERT_EQ(heir.table().digest(), original.host.table().digest()) << seed;
  }
  EXPECT_GT(copied, 150u);
  EXPECT_GT(open, 20u);
}

// Each of its ranges may join anew, by another server that has followed.
TEST(ChainCopy, ACopyOfACopyIsTheSame) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Random random(seed);
    const Original original(random);
    TableHost copy = original.job.host(kAll), joiner = original.job.host(kAll);
    const std::size_t known = random.below(original.log.size() + 1);
    for (std::size_t i = 0; i < known; ++i)
      ASSERT_TRUE(copy.replay(*decode_log_entry(original.log[i], original.job.spec, kShards)).ok());
    // What the joiner has been told of before, and has not put into its rows, is forgotten with these.
    for (std::size_t i = 0, told = random.below(known + 1); i < told; ++i)
      ASSERT_TRUE(joiner.replay(*decode_log_entry(original.log[i], original.job.spec, kShards)).ok());
    for (std::uint16_t range = 0; range < kRanges; ++range)
      send_copy(copy, joiner, original.job, RangeId{range}, 1 + random.below(4));
    // What it has already may come again, where a link of the chain is lost.
    for (std::size_t i = random.below(known + 1); i < original.log.size(); ++i) {
      for (TableHost* const host : {&copy, &joiner}) {
        if (host == &copy && i < known) continue;
        ASSERT_TRUE(host->replay(*decode_log_entry(original.log[i], original.job.spec, kShards)).ok());
        if (random.chance(0.1)) host->redo(original.sync() ? random.below(3) : 0);
      }
    }
    for (std::uint16_t range = 0; range < kRanges; ++range) {
      ASSERT_EQ(told_text(joiner, RangeId{range}), told_text(copy, RangeId{range})) << seed;
      ASSERT_EQ(digest(joiner.copied_rows(RangeId{range}, 0, ~std::size_t{0})),
                digest(copy.copied_rows(RangeId{range}, 0, ~std::size_t{0})))
          << seed;
    }
  }
}

// As where a chain has lost a link.
TEST(ChainCopy, RowsToBeginWithThatComeAgainTakeBackNoPush) {
  for (const Consistency mode : {Consistency::sync(), Consistency::bounded(2), Consistency::async()}) {
    Job job;
    job.spec.name = "t";
    job.spec.ranges = kRanges;
    job.consistency = mode;
    TableHost host = job.host(kAll), copy = job.host(kAll);
    host.log_changes({kAll});
    Frame load;
    load.head.ranges = only(RangeId{0});
    load.first = Bytes::of(std::vector<std::uint64_t>{7});
    load.second = Bytes::of(std::vector<float>{100.0f});
    ASSERT_EQ(host.load(load, TableHost::kAllRoom), ok_status());
    for (std::uint32_t s = 0; s < kShards; ++s) {
      Frame push = load;
      push.head.op = Op::kPush;
      push.head.shard = ShardId{s};
      push.second = Bytes::of(std::vector<float>{1.0f});
      ASSERT_EQ(host.push(push), ok_status());
    }
    const std::vector<LogEntry> log = host.take_log();
    for (const int time : {1, 2}) {
      for (const LogEntry& entry : log) ASSERT_EQ(copy.replay(entry), ok_status()) << time;
      copy.redo(0);
      ASSERT_EQ(copy.table().digest(), host.table().digest()) << time;
    }
  }
}

TEST(ChainCopy, SumsTravelOnceForAllShards) {
  Job job;
  job.spec.name = "t";
  job.spec.ranges = kRanges;
  TableHost host = job.host(kAll);
  host.log_changes({kAll});
  std::size_t log_bytes = 0, pushed_bytes = 0;
  constexpr std::uint32_t kSteps = 50, kKeys = 1000;
  for (std::uint32_t step = 0; step < kSteps; ++step) {
    for (std::uint32_t s = 0; s < kShards; ++s) {
      Frame frame;
      frame.head.op = Op::kPush;
      frame.head.shard = ShardId{s};
      frame.head.step = {0, step};
      frame.head.ranges = kAll;
      std::vector<std::uint64_t> keys;
      for (std::uint64_t k = 0; k < kKeys; ++k) keys.push_back(k << 50 | 7);
      frame.first = Bytes::of(std::move(keys));
      frame.second = Bytes::of(std::vector<float>(kKeys, 1.0f));
      pushed_bytes += frame.first.size() + frame.second.size();
      ASSERT_TRUE(host.push(frame).ok());
      for (const LogEntry& entry : host.take_log()) {
        const EntrySegments bytes = encode(entry);
        log_bytes += bytes.first.size() + bytes.second.size();
      }
    }
  }
  const double part = static_cast<double>(log_bytes) / static_cast<double>(pushed_bytes);
  EXPECT_NEAR(part, 1.0 / kShards, 0.01);
}

}  // namespace
}  // namespace thalweg
