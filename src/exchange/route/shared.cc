// Shared memory: the ranks of one machine tell each other where their buffers are; rank r adds up part r of
// all inputs and stores the sum in all outputs; they tell each other that they are done. Reduce-scatter and
// all-gather are its halves. Bytes: two messages of 48 bytes to each peer. Memory per rank: reads S, writes
// S. Time: 2L + the memory's. Where a buffer is not shared, all ranks see that. Two ranks then fetch what
// they need out of each other's memory, one copy, where the system lets them; else all put it into staging
// areas that all see, and take it from there, one message to each peer for each S/N that an area holds, and
// one more where the first is not there before they tell each other where. Two ranks may agree on messages
// instead. Broadcast goes by its tree, and so does what has no staging areas.
#include <algorithm>

#include "exchange/route/lanes.h"
#include "exchange/route/route.h"

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

// Above this number, what each rank tells each other takes longer than what it saves.
constexpr std::uint32_t kStagedRanksMax = 16;

// Whether all ranks can go through staging areas.
bool can_stage(const Work& work, const Team& team, const std::vector<SharedPlace>& places) {
  if (work.operation == Operation::kBroadcast || team.size > kStagedRanksMax || work.staged == 0)
    return false;
  for (std::uint32_t m = 0; m < team.size; ++m) {
    if (places[team.rank(m)].staging == Fabric::kNotShared) return false;
  }
  return true;
}

// To fetch what a rank needs can be faster between two; more of them wait for the system more than for bytes.
bool should_fetch(const Work& work, const Team& team, const std::vector<SharedPlace>& places) {
  return team.size == 2 && work.operation != Operation::kReduce && places[team.rank(0)].fetches == 1 &&
         places[team.rank(1)].fetches == 1;
}

// Messages are the quickest for short vectors between two.
bool should_send(const Team& team, const std::vector<SharedPlace>& places) {
  return team.size == 2 && (places[team.rank(0)].sends == 1 || places[team.rank(1)].sends == 1);
}

// Whether contributions are to be staged before ranks know of each other where their buffers are: each whose
// input nobody else sees does so; of two, who may fetch, it is not needed. Nobody still reads these slots
// of an earlier operation: those who did have said that it is summed up.
bool may_offer_early(const Work& work, const Team& team) {
  return combines(work.operation) && team.size > 2 && team.size <= kStagedRanksMax && work.staged > 0;
}

bool all_offered(const Team& team, const std::vector<SharedPlace>& places) {
  for (std::uint32_t m = 0; m < team.size; ++m) {
    if (!places[team.rank(m)].offers_early()) return false;
  }
  return true;
}

// This rank has come so far; the others have; all have.
Lane tell(Team team, std::uint32_t first_place) {
  for (std::uint32_t d = 1; d < team.size; ++d) {
    co_yield send(team.rank(team.after(team.me, d)), {first_place + team.rank(team.me), 1}, Buffer::kPlaces);
  }
}
Lane hear(Team team, std::uint32_t first_place) {
  for (std::uint32_t d = 1; d < team.size; ++d) {
    const std::uint32_t peer = team.rank(team.before(team.me, d));
    co_yield receive(peer, {first_place + peer, 1}, Buffer::kPlaces);
  }
}
Lane meet(Team team, std::uint32_t first_place) {
  for (Lane lane = tell(team, first_place); lane.next();) co_yield lane.step();
  for (Lane lane = hear(team, first_place); lane.next();) co_yield lane.step();
}

// Nobody needs to know of a broadcast but where its root's vector is.
Lane greet(Team team, Work work) {
  if (work.operation != Operation::kBroadcast) {
    for (Lane lane = meet(team, 0); lane.next();) co_yield lane.step();
  } else if (team.rank(team.me) == work.root) {
    for (Lane lane = tell(team, 0); lane.next();) co_yield lane.step();
  } else {
    co_yield receive(work.root, {work.root, 1}, Buffer::kPlaces);
  }
}

std::uint64_t longest_part(const Team& team, const Work& work) {
  std::uint64_t longest = 0;
  for (std::uint32_t m = 0; m < team.size; ++m) longest = std::max(longest, work.part(team, m).count);
  return longest;
}

LaneStep step_of(LaneStep::Kind kind, Block block = {}, bool fetches = false) {
  LaneStep step{kind};
  step.block = block;
  step.fetches = fetches;
  return step;
}

// A vector that the staging area holds is fetched whole, and added where both have it: nobody waits for sums.
// Else each fetches its part of the other's contribution, some of it at a time, and tells so, which means
// both that the other may overwrite it and that its sum is there; then it fetches the other's part of the
// result.
Lane fetching_lane(Team team, Work work) {
  using Kind = LaneStep::Kind;
  if (work.operation == Operation::kAllReduce && work.whole.count <= work.staged * team.size) {
    co_yield step_of(Kind::kFetch);
    for (Lane lane = meet(team, team.size); lane.next();) co_yield lane.step();
    co_yield step_of(Kind::kAdd);
    co_return;
  }
  constexpr std::uint64_t kAreas = 8;  // Of a window; larger ones make a rank wait for a slower one.
  const std::uint64_t window = kAreas * work.staged, longest = longest_part(team, work);
  const bool sums = work.operation != Operation::kAllGather;
  const bool takes = work.operation != Operation::kReduceScatter;
  for (std::uint64_t begin = 0; sums && begin < longest; begin += window) {
    co_yield step_of(Kind::kSum, {begin, window}, true);
    for (Lane lane = tell(team, team.size); lane.next();) co_yield lane.step();
  }
  for (std::uint64_t begin = 0; begin < longest; begin += window) {
    for (Lane lane = hear(team, team.size); sums && lane.next();) co_yield lane.step();
    if (takes) co_yield step_of(Kind::kTake, {begin, window}, true);
  }
  for (Lane lane = meet(team, team.size); takes && lane.next();) co_yield lane.step();
}

// As much of each part at a time as a staging area holds; areas take turns, so that a window's contributions
// are there when the one before it is summed up. What is in an area stays until all have come to where they
// need it no more: to the next window for others' contributions, to the one after it for sums.
Lane staging_lane(Team team, Work work, bool borrowed, bool offered) {
  using Kind = LaneStep::Kind;
  const bool gathers = work.operation == Operation::kAllGather;
  const bool takes = work.operation == Operation::kAllReduce || work.operation == Operation::kReduce;
  const std::uint64_t longest = longest_part(team, work);
  if (!offered && longest > 0) {
    co_yield step_of(Kind::kOffer, {0, work.staged});
    for (Lane lane = meet(team, team.size); lane.next();) co_yield lane.step();
  }
  for (std::uint64_t begin = 0; begin < longest; begin += work.staged) {
    const Block window{begin, work.staged}, next{begin + work.staged, work.staged};
    co_yield step_of(gathers ? Kind::kTake : Kind::kSum, window);
    if (next.begin < longest) co_yield step_of(Kind::kOffer, next);
    for (Lane lane = meet(team, team.size); lane.next();) co_yield lane.step();
    if (takes) co_yield step_of(Kind::kTake, window);
  }
  for (Lane lane = meet(team, team.size); takes && borrowed && lane.next();) co_yield lane.step();
}

Lane shared_lane(Team team, Work work, const std::vector<SharedPlace>& places) {
  const bool early = may_offer_early(work, team);
  if (early) co_yield step_of(LaneStep::Kind::kOfferEarly, {0, work.staged});
  for (Lane lane = greet(team, work); lane.next();) co_yield lane.step();
  if (all_shared(work, team, places)) {
    co_yield {LaneStep::Kind::kShared};
    for (Lane lane = meet(team, team.size); lane.next();) co_yield lane.step();
    co_return;
  }
  const bool staged = can_stage(work, team, places) && !should_send(team, places);
  const bool borrowed = places[team.rank(team.me)].borrowed == 1;
  const bool offered = early && all_offered(team, places);
  Lane lane = !staged                            ? elsewhere(team, work)
              : should_fetch(work, team, places) ? fetching_lane(team, work)
                                                 : staging_lane(team, work, borrowed, offered);
  while (lane.next()) co_yield lane.step();
}

void add_shared(const Work& work, LaneMaker& to) { to.add(shared_lane(to.all, work, to.places)); }

}  // namespace

constinit const Route routes::kShared{
    .name = "shared",
    .summary = "in the memory of one machine, or through it",
    .supports = {Operation::kReduce, Operation::kBroadcast, Operation::kReduceScatter, Operation::kAllGather},
    .keeps_order = {Operation::kAllReduce, Operation::kReduce, Operation::kReduceScatter},
    .touches_own_part_only = {Operation::kReduceScatter},
    .one_channel = Operations::all(),
    .in_memory = true,
    .add_lanes = add_shared,
};

}  // namespace thalweg
