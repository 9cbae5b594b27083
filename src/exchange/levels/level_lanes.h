// What one rank does at one level of a hierarchical route, there and back.
#pragma once

#include <cstdint>
#include <optional>

#include "exchange/levels/plan_level.h"
#include "exchange/route/lanes.h"

namespace thalweg {

// `work.operation` among the team, as the rank's part in a larger one; `work.root` is a member. Whoever sums
// up or has the vector to begin with, for kReduce and kBroadcast, is the root; by ways that divide vectors
// these go in parts, and kGather and kScatter by a binomial tree.
Lane level_lane(LevelWay way, Team team, Work work);

// In a binomial tree of a team's members, by rank.
TreePlace place_among(const Team& team, std::uint32_t root);

// A reduce or a broadcast: one rank goes on for all.
inline bool is_rooted(Operation operation) {
  return operation == Operation::kReduce || operation == Operation::kBroadcast;
}

// Whether each rank contributes or gets a part of its own.
inline bool gives_parts(Operation operation) {
  return operation == Operation::kReduceScatter || operation == Operation::kAllGather;
}

// On the way to the outermost level, there, and back.
enum class LevelPhase : std::uint8_t { kThere, kOutermost, kBack };
// What a team does for an all-reduce, reduce or broadcast; none: nothing. `with_root`: its members have the
// root among them or below.
std::optional<Operation> level_operation(Operation whole, LevelPhase phase, const PlanLevel& level,
                                         bool with_root);

}  // namespace thalweg
