// Bidirectional ring: half of the bytes around each way; lanes as in ring.cc. Time: 2(N-1)(L + S/(2N B))
// where links carry as much both ways at a time. Over direct cables it is laid out as rings, each both ways.
#include "exchange/route/formulas.h"
#include "exchange/route/lanes.h"
#include "exchange/route/route.h"

namespace thalweg {
namespace {

void add_bidirectional_ring(const Work& work, LaneMaker& to) {
  const double middle = (work.slice_begin + work.slice_end) / 2;
  Work half = work;
  half.slice_end = middle;
  to.add(ring_lane(to.all, half));
  half.slice_begin = middle;
  half.slice_end = work.slice_end;
  const std::uint32_t n = to.all.size;
  to.add(ring_lane({n, n - 1 - to.all.me, n - 1, ~0U}, half));
}

Status lay_out_bidirectional_ring(const Topology& topology, const Demand& demand, Layout& layout) {
  if (demand.ranks <= 1) return ok_status();
  layout.plan.rings = cable_rings(topology, demand.ranks, true);
  if (!layout.plan.rings.empty()) layout.plan.route = &routes::kRings;
  return ok_status();
}

double bidirectional_ring_seconds(RoundCosts& costs, const Demand& demand, const Layout& layout) {
  return ring_seconds(costs, demand, layout, true);
}

}  // namespace

constinit const Route routes::kBidirectionalRing{
    .name = "bidirectional-ring",
    .summary = "around, half of the bytes each way",
    .supports = {Operation::kReduceScatter, Operation::kAllGather},
    .add_lanes = add_bidirectional_ring,
    .lanes = 2,
    .tried = {"bidirectional-ring"},
    .lay_out = lay_out_bidirectional_ring,
    .cut = cut_ring,
    .seconds = bidirectional_ring_seconds,
    .fetched_bytes = ring_fetched_bytes,
    .messages = ring_messages,
};

}  // namespace thalweg
