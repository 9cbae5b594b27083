// Who may act for a data shard: its present owner by the newest map, and those through whom the owner sends.
#pragma once

#include "base/frame.h"
#include "cluster/combine_tree.h"

namespace thalweg::cluster {

// kRetry: the frame's map is newer than `map`. kStale: it is older.
Status check_map_epoch(const FrameHeader& head, const wire::Map& map);
// Whether `from` may speak for the frame's shards. kAborted: a shard has changed hands. kRefused: it may not.
// Precondition: check_map_epoch() passed.
Status check_owner(NodeId from, const FrameHeader& head, const wire::Map& map, const CombineTree& tree);

}  // namespace thalweg::cluster
