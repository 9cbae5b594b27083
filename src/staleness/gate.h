// The staleness gate: when may a data shard read? Ho et al., "More Effective Distributed ML via a Stale
// Synchronous Parallel Parameter Server", NIPS 2013.
#pragma once

#include <cstdint>
#include <vector>

#include "staleness/clocks.h"
#include "staleness/step_policy.h"

namespace thalweg {

class Gate {
 public:
  // `policy` outlives this.
  Gate(const StepPolicy& policy, std::uint32_t shards) : policy_(&policy), clocks_(shards) {}
  const Clocks& clocks() const { return clocks_; }
  void advance(ShardId shard, Step clock) { clocks_.advance(shard, clock); }
  void expire(Step before) { clocks_.expire(before); }
  // Whether a shard about to work on step `wanted` may read: its own earlier steps have arrived, where
  // it waits for them, and the policy holds it back for nobody. A shard that has ended its epoch holds nobody
  // back.
  bool open(ShardId shard, Step wanted) const;
  // The shards that keep open(shard, wanted) from being true, or of which some do, at most `count_max` of
  // them.
  std::vector<ShardId> missing(ShardId shard, Step wanted, std::size_t count_max) const;

 private:
  const StepPolicy* policy_;
  Clocks clocks_;
};

}  // namespace thalweg
