// What one rank does at one level of a hierarchical route, there and back.
#pragma once

#include "exchange/levels/plan_level.h"
#include "exchange/route/lanes.h"

namespace thalweg {

// `work.operation` among the team: all-reduce, or what climb() and descend() say; `work.root` is a member.
Lane level_lane(LevelWay way, Team team, Work work);
// Of an all-reduce below the outermost level: towards who goes on, and back.
inline Operation climb(const PlanLevel& level) {
  return level.divides() ? Operation::kReduceScatter : Operation::kReduce;
}
inline Operation descend(const PlanLevel& level) {
  return level.divides() ? Operation::kAllGather : Operation::kBroadcast;
}

}  // namespace thalweg
