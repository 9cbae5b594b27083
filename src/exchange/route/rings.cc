// Rings: several at a time, bytes split by their weights; lanes as in ring.cc. Over direct cables those of
// the best packing (topology/rings.h), and with more of them the same backwards; elsewhere by strides.
#include "exchange/route/formulas.h"
#include "exchange/route/lanes.h"
#include "exchange/route/route.h"

namespace thalweg {
namespace {

void add_rings(const Work& work, LaneMaker& to) {
  add_weighted(to.plan.rings, work, [&to](const Ring& ring, const Work& slice) {
    Team team{to.all.size, 0, 0, 1, ring.order.data()};
    while (ring.order[team.me] != to.all.me) ++team.me;
    to.add(ring_lane(team, slice));
  });
}

Status lay_out_rings(const Topology& topology, const Demand& demand, Layout& layout) {
  if (demand.ranks <= 1) return ok_status();
  Plan& plan = layout.plan;
  plan.rings = cable_rings(topology, demand.ranks, plan.ring_count > 0);
  const std::size_t found = plan.rings.size();
  if (found == 0 && plan.ring_count == 0) {
    return refuse_route(layout.route,
                        "topology " + topology.name() + " has no ring of direct cables through the ranks");
  }
  if (found == 0) {
    Result<std::vector<Ring>> rings = rings_by_stride(demand.ranks, plan.ring_count);
    if (!rings.ok()) return rings.status();
    plan.rings = *std::move(rings);
  }
  if (found > 0 && plan.ring_count > found) {
    return refuse_route(layout.route,
                        "topology " + topology.name() + " has " + std::to_string(found) +
                            " rings of direct cables, both ways counted; expected at most as many");
  }
  if (plan.ring_count > 0) plan.rings.resize(plan.ring_count);
  return ok_status();
}

double rings_seconds(RoundCosts& costs, const Demand& demand, const Layout& layout) {
  return ring_seconds(costs, demand, layout, false);
}

}  // namespace

constinit const Route routes::kRings{
    .name = "rings",
    .summary = "around K rings",
    .number = {.where = &Plan::ring_count, .unsaid = 0, .least = 1},
    .shape = RouteShape::kByRings,
    .supports = {Operation::kReduceScatter, Operation::kAllGather},
    .add_lanes = add_rings,
    .tried = {"rings"},
    .lay_out = lay_out_rings,
    .cut = cut_ring,
    .seconds = rings_seconds,
    .fetched_bytes = ring_fetched_bytes,
    .messages = ring_messages,
};

}  // namespace thalweg
