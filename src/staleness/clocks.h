// How far each data shard has come.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "thalweg/ids.h"

namespace thalweg {

class Clocks {
 public:
  explicit Clocks(std::uint32_t shards);
  // Every step of `shard` before `clock` has arrived. Clocks never go back.
  void advance(ShardId shard, Step clock);
  Step of(ShardId shard) const { return clocks_[shard.value]; }
  Step slowest() const { return slowest_; }
  // The first step that has not arrived of all shards but the `late` slowest, or of the one that is fastest.
  Step slowest_but(std::uint32_t late) const;
  // Whether a shard that is still in the step's epoch has come further.
  bool any_past(Step step) const;
  // Steps before this one are waited for no longer. Never goes back.
  void expire(Step before) { expired_ = std::max(expired_, before); }
  Step expired() const { return expired_; }
  std::uint32_t shards() const { return static_cast<std::uint32_t>(clocks_.size()); }
  // By how many steps `step` leads the slowest shard.
  std::uint32_t lead(Step step) const;

 private:
  std::vector<Step> clocks_;
  Step slowest_;
  Step expired_;
};

}  // namespace thalweg
