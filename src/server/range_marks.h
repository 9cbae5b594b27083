// The marks of every data shard and every key range that a server owns of a table.
#pragma once

#include <cstdint>
#include <vector>

#include "base/range_set.h"
#include "server/push_entry.h"
#include "staleness/marks.h"

namespace thalweg {

class RangeMarks {
 public:
  // `first`: the step that shards begin with.
  RangeMarks(std::uint16_t ranges, std::uint32_t shards, Step first)
      : none_(first), shards_(shards), slots_(ranges) {}

  // Ranges that stay keep their marks; of those that are new nothing has arrived.
  void own(const RangeSet& owned);
  // Of a shard of which nothing has arrived.
  const Mark& none() const { return none_; }
  // Precondition: the range is owned.
  Mark& at(ShardId shard, std::uint16_t range) { return marks_[shard.value * width_ + slots_[range]]; }
  const Mark& at(ShardId shard, std::uint16_t range) const {
    return marks_[shard.value * width_ + slots_[range]];
  }
  // What has come of one of the entry's shards. Precondition: its ranges are owned.
  void record(ShardId shard, const PushEntry& entry);
  const RangeSet& owned() const { return owned_; }
  // The first step of the shard that has not arrived for all ranges; kEndOfWork where none is owned.
  Step low(ShardId shard) const;

 private:
  Mark none_;
  std::uint32_t shards_;
  std::size_t width_ = 0;             // Owned ranges.
  std::vector<std::uint16_t> slots_;  // By range: its place among the owned ones.
  std::vector<Mark> marks_;           // By shard, then by slot.
  RangeSet owned_;
};

}  // namespace thalweg
