// The rows of a table range by range, a few of which the servers prepare while an earlier one is looked at.
#pragma once

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
    for (; asked_ < ranges_ && ahead_.size() < kAhead; ++asked_)
      ahead_.push_back(store_.scan(table_, RangeId{asked_}));
    Answer found = co_await ahead_.front();
    ahead_.pop_front();
    co_return found;
  }

 private:
  static constexpr std::size_t kAhead = 8;

  ShardStore& store_;
  const TableId table_;
  const std::uint16_t ranges_;
  std::uint16_t asked_ = 0;
  std::deque<Pending> ahead_;
};

}  // namespace thalweg
