// Ring. All-reduce: in N-1 steps rank r sends block r-t to r+1 and adds block r-t-1 from r-1, so that it ends
// with the sum of block r+1; in N-1 more the sums go round. A piece is sent on as soon as it is added.
// Bytes per rank: 2(N-1)S/N. Time: 2(N-1)(L + S/(N B)). Reduce-scatter and all-gather: half of both.
// P. Patarasuk, X. Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", JPDC 2009.
#include "base/planted.h"
#include "exchange/route/formulas.h"
#include "exchange/route/lanes.h"
#include "exchange/route/route.h"

namespace thalweg {

Lane ring_lane(Team team, Work work) {
  const std::uint32_t n = team.size, next = team.rank(team.after(team.me));
  const std::uint32_t previous = team.rank(team.before(team.me));
  const bool scatters = work.operation != Operation::kAllGather;
  const bool gathers = work.operation != Operation::kReduceScatter;
  // Alone, either half leaves or takes block r at rank r.
  const bool own_first = (scatters && gathers) || THALWEG_BUG(kRingOwnersShifted);
  const std::uint32_t start = own_first ? team.me : team.before(team.me);
  const std::uint32_t last = THALWEG_BUG(kRingStepLost) && !gathers ? n - 1 : n;
  if (scatters) {
    for (PartPieces first(work, team, start); first.next();) co_yield send(next, first.piece(), work.in);
    for (std::uint32_t t = 1; t < last; ++t) {
      for (PartPieces pieces(work, team, team.before(start, t)); pieces.next();) {
        co_yield reduce(previous, pieces.piece(), work.in);
        if (t + 1 == n && work.finishes) co_yield finish(pieces.piece());
        if (t + 1 < n || gathers) co_yield send(next, pieces.piece());
      }
    }
  } else {
    if (work.in != Buffer::kWork) co_yield copy(work.part(team, team.me), work.in);
    for (PartPieces first(work, team, team.me); first.next();) co_yield send(next, first.piece());
  }
  for (std::uint32_t t = 0; gathers && t + 1 < n; ++t) {
    for (PartPieces pieces(work, team, team.before(start, t)); pieces.next();) {
      co_yield receive(previous, pieces.piece());
      if (t + 2 < n) co_yield send(next, pieces.piece());
    }
  }
}

namespace {

void add_ring(const Work& work, LaneMaker& to) { to.add(ring_lane(to.all, work)); }

// The heaviest of direct cables, where there is one.
Status lay_out_ring(const Topology& topology, const Demand& demand, Layout& layout) {
  if (demand.ranks <= 1) return ok_status();
  layout.plan.rings = cable_rings(topology, demand.ranks, false);
  if (layout.plan.rings.empty()) return ok_status();
  layout.plan.rings.resize(1);
  layout.plan.route = &routes::kRings;
  return ok_status();
}

double one_ring_seconds(RoundCosts& costs, const Demand& demand, const Layout& layout) {
  return ring_seconds(costs, demand, layout, false);
}

}  // namespace

constinit const Route routes::kRing{
    .name = "ring",
    .summary = "around",
    .supports = {Operation::kReduceScatter, Operation::kAllGather},
    .add_lanes = add_ring,
    .tried = {"ring"},
    .lay_out = lay_out_ring,
    .cut = cut_ring,
    .seconds = one_ring_seconds,
    .fetched_bytes = ring_fetched_bytes,
    .messages = ring_messages,
};

}  // namespace thalweg
