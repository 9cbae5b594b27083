#include "exchange/levels/level_lanes.h"

#include <utility>

namespace thalweg {

TreePlace place_among(const Team& team, std::uint32_t root) {
  TreePlace place = binomial_place(team.me, team.size, root);
  if (!place.is_root()) place.parent = team.rank(static_cast<std::uint32_t>(place.parent));
  for (std::uint32_t& child : place.children) child = team.rank(child);
  return place;
}

namespace {

Lane tree_level_lane(Team team, Work work) {
  const TreePlace place = place_among(team, work.root);
  const bool up = work.operation != Operation::kBroadcast, down = work.operation != Operation::kReduce;
  work.operation = Operation::kReduce;
  if (up) {
    for (Lane lane = tree_up_lane(place, work, true); lane.next();) co_yield lane.step();
    work.in = Buffer::kWork;
  }
  work.operation = Operation::kBroadcast;
  if (down) {
    for (Lane lane = tree_down_lane(place, work); lane.next();) co_yield lane.step();
  }
}

Lane dividing_lane(LevelWay way, Team team, Work work) {
  return way == LevelWay::kHalving ? halving_doubling_lane(team, work) : ring_lane(team, work);
}

// R. van de Geijn, "On global combine operations", J. Parallel and Distributed Computing 1994: a reduce as a
// reduce-scatter and a gather, a broadcast as a scatter and an all-gather.
Lane in_parts_lane(LevelWay way, Team team, Work work) {
  const bool reduces = work.operation == Operation::kReduce;
  work.operation = reduces ? Operation::kReduceScatter : Operation::kScatter;
  for (Lane lane = level_lane(way, team, work); lane.next();) co_yield lane.step();
  work.operation = reduces ? Operation::kGather : Operation::kAllGather;
  work.in = Buffer::kWork;
  for (Lane lane = level_lane(way, team, work); lane.next();) co_yield lane.step();
}

}  // namespace

Lane level_lane(LevelWay way, Team team, Work work) {
  switch (work.operation) {
    case Operation::kGather:
      return gather_lane(team, work, true);
    case Operation::kScatter:
      return scatter_lane(team, work, true);
    default:
      break;
  }
  if (way == LevelWay::kTree) return tree_level_lane(team, work);
  if (way == LevelWay::kDoubling) return recursive_doubling_lane(team, work);
  return is_rooted(work.operation) ? in_parts_lane(way, team, work) : dividing_lane(way, team, work);
}

std::optional<Operation> level_operation(Operation whole, LevelPhase phase, const PlanLevel& level,
                                         bool with_root) {
  const bool divides = level.divides();
  switch (phase) {
    case LevelPhase::kThere:
      if (whole != Operation::kBroadcast) return divides ? Operation::kReduceScatter : Operation::kReduce;
      return divides && with_root ? std::optional(Operation::kScatter) : std::nullopt;
    case LevelPhase::kOutermost:
      return whole;
    case LevelPhase::kBack:
      if (whole != Operation::kReduce) return divides ? Operation::kAllGather : Operation::kBroadcast;
      return divides && with_root ? std::optional(Operation::kGather) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace thalweg
