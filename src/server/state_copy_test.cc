// A host that was loaded from the bytes of another, and one that was given the bytes of another's entries, go
// on as that other does, whatever comes and whenever that was.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "base/check.h"
#include "base/random.h"
#include "server/table_host.h"

namespace thalweg {
namespace {

constexpr std::uint16_t kRanges = 5;
constexpr RangeSpan kAll{0, kRanges};
constexpr std::uint32_t kShards = 4;
constexpr std::uint32_t kFarthest = 5;  // Steps from a shard's clock to the farthest that is pushed.

struct Job {
  TableSpec spec;
  Consistency consistency;

  TableHost host(const RangeSet& owned) const {
    return TableHost(*make_table(spec, owned), consistency, kShards);
  }
  bool sparse() const { return spec.kind == TableSpec::Kind::kSparse; }
};

Job draw_job(Random& random) {
  constexpr RuleKind kRules[] = {RuleKind::kAdd, RuleKind::kAdagrad, RuleKind::kAdam};
  Job job;
  job.spec.name = std::string("t");
  job.spec.dim = static_cast<std::uint32_t>(1 + random.below(3));
  job.spec.ranges = kRanges;
  job.spec.rule.kind = kRules[random.below(3)];
  job.spec.rule.initial_accumulator = 0.1f;
  if (random.chance(0.5)) {
    job.spec.kind = TableSpec::Kind::kDense;
    job.spec.rows = 23;
  }
  const auto mode = random.below(7);
  if (mode == 2) job.consistency = Consistency::bounded(2);
  if (mode == 3) job.consistency = Consistency::async();
  if (mode == 6) job.consistency = Consistency::backup(static_cast<std::uint32_t>(1 + random.below(2)));
  if (mode == 4 || mode == 5)
    job.consistency = Consistency::softsync(static_cast<std::uint32_t>(1 + random.below(kShards)));
  return job;
}

RangeSpan draw_ranges(Random& random) {
  if (random.chance(0.4)) return kAll;
  const auto begin = static_cast<std::uint16_t>(random.below(kRanges));
  return {begin, static_cast<std::uint16_t>(begin + 1 + random.below(kRanges - begin))};
}

// Some of the keys that there are in the ranges; dense: some of their rows.
std::vector<std::uint64_t> draw_keys(Random& random, const Job& job, RangeSpan ranges) {
  std::vector<std::uint64_t> keys;
  if (!job.sparse()) {
    const std::uint64_t begin = range_first_row(ranges.begin, kRanges, job.spec.rows);
    const std::uint64_t end = range_first_row(ranges.end, kRanges, job.spec.rows);
    const std::uint64_t first = begin + random.below(end - begin);
    return {first, 1 + random.below(end - first)};
  }
  for (std::uint16_t range = ranges.begin; range < ranges.end; ++range) {
    for (std::uint64_t i = 0; i < 4; ++i) {
      if (random.chance(0.5)) keys.push_back(range_first_key(range, kRanges) + i * 1000);
    }
  }
  return keys;
}

Frame draw_request(Random& random, const Job& job, const TableHost& host, Op op) {
  Frame frame;
  FrameHeader& head = frame.head;
  head.op = op;
  head.shard = ShardId{static_cast<std::uint32_t>(random.below(kShards))};
  const Step clock = host.clock(head.shard);
  head.step = clock == kEndOfWork ? Step{3, 0} : clock;
  if (random.chance(0.5)) head.step.index += static_cast<std::uint32_t>(random.below(kFarthest));
  if (random.chance(0.2) && head.step.index > 0) --head.step.index;
  if (random.chance(0.02)) head.step = head.step.next_epoch();
  head.ranges = draw_ranges(random);
  std::vector<std::uint64_t> keys = draw_keys(random, job, head.ranges);
  if (op == Op::kPull) {
    if (random.chance(0.3)) head.flags = frame_flags::kReadOnly;
    frame.first = Bytes::of(std::move(keys));
    return frame;
  }
  if (random.chance(0.1)) head.flags = frame_flags::kEndOfEpoch;
  if (random.chance(0.02)) head.flags = frame_flags::kEndOfWork;
  if (random.chance(0.15)) {
    head.block = static_cast<std::uint8_t>(1 + random.below(2));
    head.shard.value &= ~(head.shard_count() - 1);
  }
  const std::size_t rows = job.sparse() ? keys.size() : keys[1];
  if (!job.sparse()) keys.pop_back();
  std::vector<float> values(rows * job.spec.dim);
  for (float& value : values) value = static_cast<float>(random.unit() - 0.5);
  frame.first = Bytes::of(std::move(keys));
  frame.second = Bytes::of(std::move(values));
  return frame;
}

TableHost copy_of(const Job& job, const TableHost& host) {
  TableHost copy = job.host({});
  std::vector<RangeState> states;
  for (std::uint16_t range = 0; range < kRanges; ++range) {
    const Bytes bytes = encode(host.state_of(RangeId{range}));
    auto state = decode_range_state(bytes, job.spec, kShards);
    THALWEG_CHECK(state && encode(*state).text() == bytes.text(), "a state reads back as it was written");
    states.push_back(*std::move(state));
  }
  EXPECT_TRUE(copy.adopt(std::move(states)).ok());
  return copy;
}

void expect_same(const TableHost& a, const TableHost& b) {
  ASSERT_EQ(a.table().digest(), b.table().digest());
  for (std::uint32_t s = 0; s < kShards; ++s) ASSERT_EQ(a.marks(ShardId{s}), b.marks(ShardId{s})) << s;
}

// What came of each kind, so that none can be missing.
struct Seen {
  int pushed = 0, refused = 0, put_off = 0, repeats = 0, ends = 0, answered = 0, early = 0;
};

void push_to_all(const Frame& frame, const Job& job, TableHost& host, std::optional<TableHost>& copy,
                 TableHost& replica, Seen& seen) {
  const std::uint64_t digest = host.table().digest();
  const auto entry = host.check(frame);
  ASSERT_EQ(host.table().digest(), digest);
  const Status status = host.push(frame);
  ASSERT_EQ(status, entry.status());
  if (copy) {
    ASSERT_EQ(copy->push(frame), status);
  }
  seen.refused += status.code() == Code::kRefused;
  seen.put_off += status.code() == Code::kRetry;
  if (!entry) return;
  seen.pushed += !entry->fresh.empty();
  seen.repeats += !entry->changes();
  seen.ends += !entry->ended.empty();
  if (!entry->changes()) return;
  const Bytes bytes = encode(*entry);
  auto read = decode_push_entry(bytes, job.spec, kShards);
  ASSERT_TRUE(read && encode(*read).text() == bytes.text());
  replica.apply(*std::move(read));
}

void pull_from_all(const Frame& frame, TableHost& host, std::optional<TableHost>& copy, TableHost& replica,
                   Seen& seen) {
  const auto rows = host.pull(frame);
  const auto from_copy = copy ? copy->pull(frame) : rows;
  ASSERT_EQ(from_copy.status(), rows.status());
  seen.early += rows.status().code() == Code::kRetry;
  if (!rows) return;
  ++seen.answered;
  ASSERT_EQ(from_copy->text(), rows->text());
  if ((frame.head.flags & frame_flags::kReadOnly) == 0) return;
  const auto from_replica = replica.pull(frame);
  ASSERT_TRUE(from_replica.ok());
  ASSERT_EQ(from_replica->text(), rows->text());
}

void run_job(std::uint64_t seed, Seen& seen) {
  Random random(seed);
  const Job job = draw_job(random);
  TableHost host = job.host(kAll), replica = job.host(kAll);
  std::optional<TableHost> copy;
  for (int i = 0; i < 150; ++i) {
    if (random.chance(0.1)) copy.emplace(copy_of(job, random.chance(0.5) && copy ? *copy : host));
    const Frame frame = draw_request(random, job, host, random.chance(0.7) ? Op::kPush : Op::kPull);
    if (frame.head.op == Op::kPush) {
      ASSERT_NO_FATAL_FAILURE(push_to_all(frame, job, host, copy, replica, seen)) << i;
    } else {
      ASSERT_NO_FATAL_FAILURE(pull_from_all(frame, host, copy, replica, seen)) << i;
    }
    ASSERT_NO_FATAL_FAILURE(expect_same(host, copy ? *copy : host)) << i;
    ASSERT_NO_FATAL_FAILURE(expect_same(host, replica)) << i;
  }
}

TEST(StateCopy, GoesOnAsTheOriginalDoes) {
  Seen seen;
  for (std::uint64_t seed = 0; seed < 400; ++seed) ASSERT_NO_FATAL_FAILURE(run_job(seed, seen)) << seed;
  for (const int count :
       {seen.pushed, seen.refused, seen.put_off, seen.repeats, seen.ends, seen.answered, seen.early})
    EXPECT_GT(count, 20) << seen.pushed << " " << seen.refused << " " << seen.put_off << " " << seen.repeats
                         << " " << seen.ends << " " << seen.answered << " " << seen.early;
}

}  // namespace
}  // namespace thalweg
