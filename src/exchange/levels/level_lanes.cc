#include "exchange/levels/level_lanes.h"

#include <utility>

namespace thalweg {
namespace {

TreePlace place_among(const Team& team, std::uint32_t root) {
  TreePlace place = binomial_place(team.me, team.size, root);
  if (!place.is_root()) place.parent = team.rank(static_cast<std::uint32_t>(place.parent));
  for (std::uint32_t& child : place.children) child = team.rank(child);
  return place;
}

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

}  // namespace

Lane level_lane(LevelWay way, Team team, Work work) {
  switch (way) {
    case LevelWay::kTree:
      return tree_level_lane(team, work);
    case LevelWay::kHalving:
      return halving_doubling_lane(team, work);
    case LevelWay::kDoubling:
      return recursive_doubling_lane(team, work);
    case LevelWay::kRing:
      break;
  }
  return ring_lane(team, work);
}

}  // namespace thalweg
