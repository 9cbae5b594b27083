// The rows of a table range by range, a few of which the servers prepare while an earlier one is looked at.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>

#include "client/job/job_cluster.h"
#include "thalweg/ids.h"
#include "thalweg/options.h"
#include "thalweg/task.h"

namespace thalweg {

class ScansAhead {
 public:
  // `store` outlives it.
  ScansAhead(ShardStore& store, TableId table, std::uint16_t ranges)
      : store_(store), table_(table), ranges_(ranges) {}

  // Of the ranges in their order, the next one's.
  Task<Answer> next() {
    for (; asked_ < ranges_ && ahead_.size() < most_; ++asked_)
      ahead_.push_back(store_.scan(table_, RangeId{asked_}));
    Answer found = co_await ahead_.front();
    ahead_.pop_front();
    const std::size_t bytes = found.rows.size() * sizeof(float) + found.keys.size() * sizeof(std::uint64_t);
    most_ = std::clamp(kBytesAhead / std::max<std::size_t>(bytes, 1), kAheadLeast, kAheadMost);
    co_return found;
  }

 private:
  // One a server and one that is looked at, else as many as have this many bytes, ranges being alike.
  static constexpr std::size_t kAheadLeast = 2, kAheadMost = 8;
  static constexpr std::size_t kBytesAhead = std::size_t{32} << 20;

  ShardStore& store_;
  const TableId table_;
  const std::uint16_t ranges_;
  std::uint16_t asked_ = 0;
  std::size_t most_ = kAheadLeast;
  std::deque<Pending> ahead_;
};

}  // namespace thalweg
