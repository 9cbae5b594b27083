// Spare servers: of N = m + n ranks the m workers own parts as well as the last n, smaller ones, so that
// every port is busy both ways all the time: with b = 2(m-1)/(m^2 + nm - 2n), a server owns bS and a worker
// (1 - nb)S/m; lanes as in owners.cc. Time: 2m(m-1)S / ((m^2 + nm - 2n)B). n = 0 is the spread route, n = m
// is S/B. Y. Jiang et al., "A unified architecture for accelerating distributed DNN training in heterogeneous
// GPU/CPU clusters", OSDI 2020, section 4.
#include "exchange/route/formulas.h"
#include "exchange/route/lanes.h"
#include "exchange/route/route.h"

namespace thalweg {
namespace {

Status check_spare_servers(const Plan& plan, Operation operation, std::uint32_t) {
  return check_owners_barrier(plan, operation, 0);
}

OwnShares spare_shares(double workers, double servers) {
  const double m = workers, n = servers;
  const double optimum = m > 1 ? 2 * (m - 1) / (m * m + n * m - 2 * n) : 0;
  const double server = n > m ? 1 / n : optimum;
  return {(1 - n * server) / m, server};
}

void add_spare_servers(const Work& work, LaneMaker& to) {
  const std::uint32_t servers = to.plan.servers;
  add_owners(work, spare_shares(to.all.size - servers, servers), to);
}

Status lay_out_spare_servers(const Topology&, const Demand&, Layout& layout) {
  if (layout.plan.servers == 0) layout.plan.route = &routes::kSpread;
  return ok_status();
}

void cut_spare_servers(const Demand& demand, Layout& layout) {
  cut_by_depth(layout, 1, static_cast<double>(demand.bytes) / (layout.plan.servers + layout.size()));
}

// One worker has nobody to add up for, so that servers own all.
double spare_servers_seconds(RoundCosts& costs, const Demand& demand, const Layout& layout) {
  const std::uint32_t servers = layout.plan.servers;
  const OwnShares own = demand.ranks > 1 ? spare_shares(demand.ranks, servers) : OwnShares{0, 1.0 / servers};
  return owners_seconds(costs, demand, layout, own);
}

double spare_servers_messages(const Demand& demand, const Layout& layout) {
  const double m = demand.ranks, n = layout.size();
  return 2 * m * n * pieces_of(layout, static_cast<double>(demand.elements()) / n);
}

}  // namespace

constinit const Route routes::kSpareServers{
    .name = "byteps",
    .summary = "ranks own parts, n spare servers larger ones",
    .number = {&Plan::servers},
    .makes_lists = true,
    .check = check_spare_servers,
    .add_lanes = add_spare_servers,
    .lanes = kOwnersLanes,
    .lay_out = lay_out_spare_servers,
    .cut = cut_spare_servers,
    .seconds = spare_servers_seconds,
    .added_bytes = owners_added_bytes,
    .messages = spare_servers_messages,
};

}  // namespace thalweg
