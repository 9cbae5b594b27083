// Dedicated servers: the last n of N = m + n ranks own a part each; m workers send it to them and get the sum
// back; lanes as in owners.cc. Bytes: a worker S each way, a server mS/n. Time, whole: 2(L + mS/(nB)); in
// pieces half of that.
#include "exchange/route/formulas.h"
#include "exchange/route/lanes.h"
#include "exchange/route/route.h"

namespace thalweg {
namespace {

Status check_servers(const Plan& plan, Operation operation, std::uint32_t) {
  if (Status status = check_owners_barrier(plan, operation, 1); !status.ok()) return status;
  return plan.servers > 0 ? ok_status() : refuse_route(plan.name(), "expected a server or more");
}

void add_servers(const Work& work, LaneMaker& to) { add_owners(work, {0, 1.0 / to.plan.servers}, to); }

void cut_servers(const Demand& demand, Layout& layout) {
  cut_by_depth(layout, 1, static_cast<double>(demand.bytes) / layout.plan.servers);
}

double servers_seconds(RoundCosts& costs, const Demand& demand, const Layout& layout) {
  return owners_seconds(costs, demand, layout, {0, 1.0 / layout.plan.servers});
}

double servers_messages(const Demand& demand, const Layout& layout) {
  const double m = demand.ranks, servers = layout.size() - m;
  return 2 * m * servers * pieces_of(layout, static_cast<double>(demand.elements()) / servers);
}

}  // namespace

constinit const Route routes::kServers{
    .name = "servers",
    .alias = "cpu",
    .summary = "the last n ranks own parts and contribute nothing",
    .number = {&Plan::servers, 1},
    .makes_lists = true,
    .check = check_servers,
    .add_lanes = add_servers,
    .lanes = kOwnersLanes,
    .tried = {"cpu"},
    .cut = cut_servers,
    .seconds = servers_seconds,
    .added_bytes = owners_added_bytes,
    .messages = servers_messages,
};

}  // namespace thalweg
