// A host that was loaded from the bytes of another, and one that was given the bytes of another's entries, go
// on as that other does, whatever comes and whenever that was.
#include <gtest/gtest.h>

#include <optional>

#include "base/check.h"
#include "server/job_for_test.h"

namespace thalweg {
namespace {

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
struct SeenState {
  int pushed = 0, refused = 0, put_off = 0, repeats = 0, ends = 0, answered = 0, early = 0;
};

void push_to_all(const Frame& frame, const Job& job, TableHost& host, std::optional<TableHost>& copy,
                 TableHost& replica, SeenState& seen) {
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
  const EntrySegments bytes = encode(*entry);
  auto read = decode_log_entry(bytes, job.spec, kShards);
  ASSERT_TRUE(read && encode(*read) == bytes);
  replica.apply(std::get<PushEntry>(*std::move(read)));
}

void pull_from_all(const Frame& frame, TableHost& host, std::optional<TableHost>& copy, TableHost& replica,
                   SeenState& seen) {
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

void run_job(std::uint64_t seed, SeenState& seen) {
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
  SeenState seen;
  for (std::uint64_t seed = 0; seed < 400; ++seed) ASSERT_NO_FATAL_FAILURE(run_job(seed, seen)) << seed;
  for (const int count :
       {seen.pushed, seen.refused, seen.put_off, seen.repeats, seen.ends, seen.answered, seen.early})
    EXPECT_GT(count, 20) << seen.pushed << " " << seen.refused << " " << seen.put_off << " " << seen.repeats
                         << " " << seen.ends << " " << seen.answered << " " << seen.early;
}

}  // namespace
}  // namespace thalweg
