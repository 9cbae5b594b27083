#include "staleness/gate.h"

#include <algorithm>

#include "base/check.h"
#include "base/planted.h"

namespace thalweg {

Gate::Gate(Consistency consistency, std::uint32_t shards) : consistency_(consistency), clocks_(shards) {
  THALWEG_CHECK(shards > 0, "a job has at least one data shard");
}

void Gate::advance(ShardId shard, Step clock) {
  Step& own = clocks_[shard.value];
  THALWEG_CHECK(clock >= own, "clocks never go back");
  const bool was_slowest = own == slowest_;
  own = clock;
  if (was_slowest) slowest_ = *std::min_element(clocks_.begin(), clocks_.end());
}

bool Gate::reached(Step clock, Step wanted) const {
  if (consistency_.kind == Consistency::Kind::kAsync || clock >= wanted) return true;
  std::uint64_t bound = consistency_.bound;
  if (THALWEG_BUG(kGateOffByOne)) ++bound;
  if (THALWEG_BUG(kGateTooStrict) && bound > 0) --bound;
  if (THALWEG_BUG(kEpochsMixed) && clock.epoch < wanted.epoch) return true;
  return clock.epoch == wanted.epoch && clock.index + bound >= wanted.index;
}

bool Gate::open(ShardId shard, Step wanted) const {
  if (THALWEG_BUG(kOwnWritesMissed)) return reached(slowest_, wanted);
  return clocks_[shard.value] >= wanted && reached(slowest_, wanted);
}

std::uint32_t Gate::lead(Step wanted) const {
  if (slowest_ >= wanted) return 0;
  return slowest_.epoch == wanted.epoch ? wanted.index - slowest_.index : wanted.index;
}

std::vector<ShardId> Gate::missing(ShardId shard, Step wanted, std::size_t count_max) const {
  std::vector<ShardId> out;
  for (std::uint32_t s = 0; s < clocks_.size() && out.size() < count_max; ++s) {
    const bool late = s == shard.value ? clocks_[s] < wanted : !reached(clocks_[s], wanted);
    if (late) out.push_back(ShardId{s});
  }
  return out;
}

}  // namespace thalweg
