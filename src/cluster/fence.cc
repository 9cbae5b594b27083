#include "cluster/fence.h"

#include <fmt/format.h>

#include "base/coverage/reached.h"
#include "base/planted.h"

namespace thalweg::cluster {

Status check_map_epoch(const FrameHeader& head, const wire::Map& map) {
  if (map.epoch == 0 || head.map_epoch > map.epoch) {
    THALWEG_REACHED(kMapAwaited);
    return {Code::kRetry, "this node awaits the map"};
  }
  if (head.map_epoch < map.epoch && !THALWEG_BUG(kStaleMapAccepted) && !THALWEG_BUG(kNoFence)) {
    THALWEG_REACHED(kMapOld);
    return {Code::kStale, fmt::format("map epoch {}, the newest is {}", head.map_epoch, map.epoch)};
  }
  return ok_status();
}

Status check_owner(NodeId from, const FrameHeader& head, const wire::Map& map, const CombineTree& tree) {
  // Of no shard: an observer's look at the rows as they are.
  const bool looks = head.op == Op::kPull && (head.flags & frame_flags::kReadOnly) != 0;
  if (looks && head.shard == kNoShard) return ok_status();
  const std::size_t first = head.shard.value, count = head.shard_count();
  if (first + count > map.shards.size()) {
    return {Code::kRefused, fmt::format("{}: the job has {} data shards", describe(head), map.shards.size())};
  }
  if (THALWEG_BUG(kNoFence)) return ok_status();
  const std::uint32_t now =
      map.shards[first].owner_epoch;  // Those of a block's others are its sender's care.
  if (head.owner_epoch != now) {
    THALWEG_REACHED(kOwnerFormer);
    return {Code::kAborted, fmt::format("{}: shard changed hands (owner epoch {}, now {})", describe(head),
                                        head.owner_epoch, now)};
  }
  for (std::size_t shard = first; shard < first + count; ++shard) {
    const std::uint32_t owner = map.shards[shard].worker;
    if (from.role == Role::kWorker && tree.passes(owner, from.index)) continue;
    return {Code::kRefused, fmt::format("{}: {} owns shard {}, not {}", describe(head),
                                        node_name(worker_node(owner)), shard, node_name(from))};
  }
  return ok_status();
}

}  // namespace thalweg::cluster
