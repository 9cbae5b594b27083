// A route of one's own: all to the captains of teams, these to rank 0, and back.
#include <algorithm>
#include <vector>

#include "exchange/plan/cost.h"
#include "exchange/plan/round_costs.h"
#include "exchange/route/lanes.h"
#include "exchange/route/route.h"

namespace thalweg {
namespace {

Status check_teams(const Plan& plan, Operation, std::uint32_t) {
  return plan.fanout > 0 ? ok_status() : refuse_route(plan.name(), "expected teams of one rank or more");
}

Lane member_lane(std::uint32_t captain, Work work) {
  const Pieces pieces(work.all(), work.piece);
  for (std::uint64_t i = 0; i < pieces.size(); ++i) co_yield send(captain, pieces[i], work.in);
  for (std::uint64_t i = 0; i < pieces.size(); ++i) co_yield receive(captain, pieces[i]);
}

// Ranks 0, k, 2k, ... are captains of teams of k.
Lane captain_lane(Team all, std::uint32_t k, Work work) {
  std::vector<std::uint32_t> below;
  for (std::uint32_t rank = all.me + 1; rank < std::min(all.me + k, all.size); ++rank) below.push_back(rank);
  for (std::uint32_t rank = k; all.me == 0 && rank < all.size; rank += k) below.push_back(rank);
  const Pieces pieces(work.all(), work.piece);
  for (std::uint64_t i = 0; i < pieces.size(); ++i) {
    Buffer sum = work.in;
    for (const std::uint32_t rank : below) {
      co_yield reduce(rank, pieces[i], sum);
      sum = Buffer::kWork;
    }
    if (all.me > 0) co_yield send(0, pieces[i], sum);
    if (all.me == 0 && work.finishes) co_yield finish(pieces[i]);
  }
  for (std::uint64_t i = 0; i < pieces.size(); ++i) {
    if (all.me > 0) co_yield receive(0, pieces[i]);
    for (std::size_t b = below.size(); b-- > 0;) co_yield send(below[b], pieces[i]);
  }
}

void add_teams(const Work& work, LaneMaker& to) {
  const std::uint32_t k = to.plan.fanout, me = to.all.me;
  to.add(me % k == 0 ? captain_lane(to.all, k, work) : member_lane(me - me % k, work));
}

// 2(2L + (k - 1 + N/k - 1) S/B).
double teams_seconds(RoundCosts& costs, const Demand& demand, const Layout& layout) {
  Round members, captains;
  for (std::uint32_t rank = 1; rank < layout.size(); ++rank) {
    const std::uint32_t place = rank % layout.plan.fanout;
    (place ? members : captains)
        .push_back({rank, place ? rank - place : 0, static_cast<double>(demand.bytes)});
  }
  return 2 * (costs.of(members).whole() + costs.of(captains).whole());
}

}  // namespace

extern constinit const Route kTeams{
    .name = "teams",
    .summary = "to captains of teams of K, to rank 0, and back",
    .number = {&Plan::fanout, 2},
    .check = check_teams,
    .add_lanes = add_teams,
    .tried = {"teams:3"},
    .seconds = teams_seconds,
};

}  // namespace thalweg
