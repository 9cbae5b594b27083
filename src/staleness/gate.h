// The staleness gate: when may a data shard read? One class for sync (bound 0), bounded (s) and async (no
// bound), after Ho et al., "More Effective Distributed ML via a Stale Synchronous Parallel Parameter Server",
// NIPS 2013.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "thalweg/ids.h"
#include "thalweg/options.h"

namespace thalweg {

class Gate {
 public:
  Gate(Consistency consistency, std::uint32_t shards);
  // Every step of `shard` before `clock` has arrived. Clocks never go back.
  void advance(ShardId shard, Step clock);
  // Whether a shard about to work on step `wanted` may read: its own earlier steps have arrived, and no shard
  // is more than the bound behind. A shard that has ended its epoch holds nobody back.
  bool open(ShardId shard, Step wanted) const;
  // The slowest shard's clock.
  Step slowest() const { return slowest_; }
  Step clock(ShardId shard) const { return clocks_[shard.value]; }
  std::uint32_t shards() const { return static_cast<std::uint32_t>(clocks_.size()); }
  // How many steps a reader of `wanted` leads the slowest shard.
  std::uint32_t lead(Step wanted) const;
  // The shards that keep open(shard, wanted) from being true, at most `count_max` of them.
  std::vector<ShardId> missing(ShardId shard, Step wanted, std::size_t count_max) const;

 private:
  bool reached(Step clock, Step wanted) const;

  Consistency consistency_;
  std::vector<Step> clocks_;
  Step slowest_;
};

}  // namespace thalweg
