// The checker's own account of which pushes the servers have accepted, kept as plainly as possible, and what
// the consistency mode then promises.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/frame.h"
#include "sim/workload.h"

namespace thalweg::sim {

class Arrivals {
 public:
  explicit Arrivals(const Workload& workload);

  // A server said that `push` is safe. Empty, or what is wrong with that.
  std::string accept(const FrameHeader& push);
  // Whether a reader of `shard` at `wanted` may read, judged by what arrived for the ranges `owned`.
  bool may_read(TableId table, RangeSpan owned, ShardId shard, Step wanted) const;
  // How many steps a reader of `wanted` is ahead of the slowest shard within its epoch.
  std::uint32_t lead(TableId table, RangeSpan owned, Step wanted) const;
  Step clock(TableId table, RangeSpan owned, ShardId shard) const;

 private:
  struct Cell {
    std::vector<std::vector<bool>> seen;  // Epoch, index; the last index of an epoch is its end.
    Step low;
  };
  std::size_t place(TableId table, ShardId shard, std::uint16_t range) const;
  Step slowest(TableId table, RangeSpan owned) const;

  const Workload& workload_;
  std::vector<std::vector<Cell>> cells_;  // Table; shard x ranges.
};

}  // namespace thalweg::sim
