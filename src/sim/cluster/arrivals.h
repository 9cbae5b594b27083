// The checker's own account of which pushes the servers have accepted, kept as plainly as possible, and what
// the consistency mode then promises.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/frame.h"
#include "base/range_set.h"
#include "sim/cluster/workload.h"

namespace thalweg::sim {

class Arrivals {
 public:
  explicit Arrivals(const Workload& workload);

  // A server said that `push` is safe. Empty, or what is wrong with that.
  std::string accept(const FrameHeader& push);
  // Whether every part of a push was accepted before.
  bool knows(const FrameHeader& push) const;
  // Whether a reader of `shard` at `wanted` may read, judged by what arrived for the ranges `owned`.
  bool may_read(TableId table, const RangeSet& owned, ShardId shard, Step wanted) const;
  // Whether it waits for nothing any more.
  bool must_be_shown(TableId table, const RangeSet& owned, ShardId shard, Step wanted) const;
  // How many steps a reader of `wanted` is ahead of the slowest shard within its epoch.
  std::uint32_t lead(TableId table, const RangeSet& owned, Step wanted) const;
  Step clock(TableId table, const RangeSet& owned, ShardId shard) const;
  // Steps that a shard did in an epoch: what the workload has, or where it ended when the job was stopped.
  std::uint32_t steps(ShardId shard, std::uint32_t epoch) const;

 private:
  static constexpr std::uint32_t kOpen = ~0u;
  using Seen = std::vector<std::vector<bool>>;  // Epoch, index.
  // Of one epoch of one shard.
  struct Epoch {
    std::uint32_t end = kOpen;   // The index of its end, which comes after its last step, once known.
    std::uint32_t accepted = 0;  // One past the latest step that was accepted and is no end.
    bool of_work = false;        // That end is the end of all.
  };
  std::string accept_of(ShardId shard, const FrameHeader& push);
  std::string check_end(ShardId shard, const FrameHeader& push);
  std::size_t place(TableId table, ShardId shard, std::uint16_t range) const {
    return std::size_t{shard.value} * workload_.plan().tables[table.value].ranges + range;
  }
  Step slowest(TableId table, const RangeSet& owned, std::uint32_t but = 0) const;

  const Workload& workload_;
  std::vector<std::vector<Seen>> seen_;     // Table; shard x ranges.
  std::vector<std::vector<Step>> lows_;     // The same: before which all were.
  std::vector<std::vector<Epoch>> epochs_;  // Shard, epoch.
};

}  // namespace thalweg::sim
