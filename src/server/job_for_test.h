// Jobs of one table with random requests, for tests of what two hosts make of the same.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "server/table_host.h"

namespace thalweg {

inline constexpr std::uint16_t kRanges = 5;
inline constexpr RangeSpan kAll{0, kRanges};
inline constexpr std::uint32_t kShards = 4;
inline constexpr std::uint32_t kFarthest = 5;  // Steps from a shard's clock to the farthest that is pushed.

struct Job {
  TableSpec spec;
  Consistency consistency;

  TableHost host(const RangeSet& owned) const {
    return TableHost(*make_table(spec, owned), consistency, kShards);
  }
  bool sparse() const { return spec.kind == TableSpec::Kind::kSparse; }
};

inline Job draw_job(Random& random) {
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

inline RangeSpan draw_ranges(Random& random) {
  if (random.chance(0.4)) return kAll;
  const auto begin = static_cast<std::uint16_t>(random.below(kRanges));
  return {begin, static_cast<std::uint16_t>(begin + 1 + random.below(kRanges - begin))};
}

// Some of the keys that there are in the ranges; dense: some of their rows.
inline std::vector<std::uint64_t> draw_keys(Random& random, const Job& job, RangeSpan ranges) {
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

// Rows of a push to these keys, by chance.
inline void fill_push(Random& random, const Job& job, std::vector<std::uint64_t> keys, Frame& frame) {
  std::vector<float> values((job.sparse() ? keys.size() : keys[1]) * job.spec.dim);
  if (!job.sparse()) keys.pop_back();
  for (float& value : values) value = static_cast<float>(random.unit() - 0.5);
  frame.first = Bytes::of(std::move(keys));
  frame.second = Bytes::of(std::move(values));
}

inline Frame draw_request(Random& random, const Job& job, const TableHost& host, Op op) {
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
  fill_push(random, job, std::move(keys), frame);
  return frame;
}

}  // namespace thalweg
