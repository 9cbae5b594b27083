#include "staleness/gate.h"

#include "base/planted.h"

namespace thalweg {

bool Gate::open(ShardId shard, Step wanted) const {
  const bool others = policy_->lets_read(policy_->awaited(clocks_), wanted);
  if (THALWEG_BUG(kOwnWritesMissed)) return others;
  return others && (clocks_.of(shard) >= wanted || !policy_->waits_for_own());
}

std::vector<ShardId> Gate::missing(ShardId shard, Step wanted, std::size_t count_max) const {
  std::vector<ShardId> out;
  for (std::uint32_t s = 0; s < clocks_.shards() && out.size() < count_max; ++s) {
    const Step clock = clocks_.of(ShardId{s});
    const bool late =
        s == shard.value ? policy_->waits_for_own() && clock < wanted : !policy_->lets_read(clock, wanted);
    if (late) out.push_back(ShardId{s});
  }
  return out;
}

}  // namespace thalweg
