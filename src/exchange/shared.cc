// Shared memory: the ranks of one machine tell each other where their buffers are; rank r adds up part r of
// all inputs and stores the sum in all outputs; they tell each other that they are done. Reduce-scatter and
// all-gather are its halves. Where a buffer is not shared, all ranks see that and go by another route.
// Bytes: two messages of 16 bytes to each peer. Memory per rank: reads S, writes S. Time: 2L + the memory's.
#include "exchange/lanes.h"

namespace thalweg {
namespace {

bool all_shared(const Work& work, const Team& team, const std::vector<SharedPlace>& places) {
  for (std::uint32_t m = 0; m < team.size; ++m) {
    const SharedPlace& place = places[team.rank(m)];
    const bool is_root = team.rank(m) == work.root;
    const bool in = place.in != Fabric::kNotShared, out = place.out != Fabric::kNotShared;
    switch (work.operation) {
      case Operation::kAllReduce:
        if (!in || !out) return false;
        break;
      case Operation::kReduce:
        if (!in || (is_root && !out)) return false;
        break;
      case Operation::kBroadcast:
        if (is_root && !in) return false;
        break;
      default:
        if (!in) return false;
    }
  }
  return true;
}

Lane elsewhere(const Team& team, const Work& work) {
  switch (work.operation) {
    case Operation::kReduce:
      if (work.in_order) return ordered_reduce_lane(binomial_place(team.me, team.size, 0), team.me, work);
      return tree_up_lane(binomial_place(team.me, team.size, work.root), work, true);
    case Operation::kAllReduce:
      return work.in_order ? recursive_doubling_lane(team, work) : ring_lane(team, work);
    case Operation::kBroadcast:
      return tree_down_lane(binomial_place(team.me, team.size, work.root), work);
    case Operation::kReduceScatter:
      return spread_lane(team, work);
    default:
      return ring_lane(team, work);
  }
}

}  // namespace

Lane shared_lane(Team team, Work work, const std::vector<SharedPlace>& places) {
  const std::uint32_t n = team.size, me = team.me;
  for (const std::uint32_t round : {0u, n}) {
    for (std::uint32_t d = 1; d < n; ++d) {
      co_yield send(team.rank(team.after(me, d)), {round + team.rank(me), 1}, Buffer::kPlaces);
    }
    for (std::uint32_t d = 1; d < n; ++d) {
      const std::uint32_t peer = team.rank(team.before(me, d));
      co_yield receive(peer, {round + peer, 1}, Buffer::kPlaces);
    }
    if (round > 0) co_return;
    if (!all_shared(work, team, places)) break;
    co_yield {LaneStep::Kind::kShared};
  }
  for (Lane lane = elsewhere(team, work); lane.next();) co_yield lane.step();
}

}  // namespace thalweg
