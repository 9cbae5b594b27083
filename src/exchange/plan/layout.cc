#include "exchange/plan/layout.h"

#include <algorithm>
#include <numeric>

#include "exchange/route/route.h"

namespace thalweg {
namespace {

Status seat(const Topology& topology, const Demand& demand, Layout& layout) {
  const std::uint32_t spare = topology.endpoint_count() - topology.rank_count();
  if (demand.ranks == 0 || demand.ranks > topology.rank_count()) {
    return {Code::kUsage, "topology " + topology.name() + " has " + std::to_string(topology.rank_count()) +
                              " ranks; expected 1 to that many, not " + std::to_string(demand.ranks)};
  }
  layout.endpoints.resize(demand.ranks);
  std::iota(layout.endpoints.begin(), layout.endpoints.end(), 0u);
  const std::uint32_t free = spare + topology.rank_count() - demand.ranks;
  if (layout.plan.servers > free) {
    return refuse_route(layout.route, "topology " + topology.name() + " has room for " +
                                          std::to_string(free) + " servers beside " +
                                          std::to_string(demand.ranks) + " ranks, not " +
                                          std::to_string(layout.plan.servers));
  }
  for (std::uint32_t i = 0; i < layout.plan.servers; ++i) {
    layout.endpoints.push_back(i < spare ? topology.rank_count() + i : demand.ranks + (i - spare));
  }
  return ok_status();
}

}  // namespace

std::vector<std::uint32_t> ring_neighbours(std::uint32_t rank, std::uint32_t ranks) {
  if (ranks < 2) return {};
  const std::uint32_t after = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
  return after == before ? std::vector{after} : std::vector{after, before};
}

Result<Layout> lay_out(const Topology& topology, const Demand& demand, std::string_view name,
                       std::span<const Route* const> own) {
  auto plan = parse_route(name, own);
  if (!plan.ok()) return plan.status();
  Layout layout{std::string(present_name(name, own)), *std::move(plan), {}};
  const Route& wanted = *layout.plan.route;
  const bool reduces_all =
      demand.operation == Operation::kAllReduce || demand.operation == Operation::kBarrier;
  if (layout.plan.servers > 0 && !reduces_all) {
    return refuse_route(layout.route,
                        std::string("servers have no part in ") + operation_name(demand.operation));
  }
  if (wanted.in_memory)
    return refuse_route(layout.route, "is of one machine's memory; it crosses no network");
  if (Status status = seat(topology, demand, layout); !status.ok()) return status;
  if (wanted.lay_out) {
    if (Status status = wanted.lay_out(topology, demand, layout); !status.ok()) return status;
  }
  const Route& chosen = *layout.plan.route;
  if (demand.pipelined && chosen.cut) chosen.cut(demand, layout);
  if (!supports(demand.operation, chosen)) {
    return refuse_route(layout.route, std::string("does not do ") + operation_name(demand.operation));
  }
  if (Status status = check_plan(layout.plan, demand.operation, layout.size()); !status.ok()) return status;
  return layout;
}

std::vector<std::string> candidate_routes(const Topology& topology, const Demand& demand,
                                          std::span<const Route* const> own) {
  std::vector<std::string> names, with_servers;
  const std::uint32_t spare = topology.endpoint_count() - topology.rank_count();
  for (const auto among : {routes::all(), own}) {
    for (const Route* route : among) {
      for (const char* tried : route->tried) {
        if (tried) names.emplace_back(tried);
      }
      if (spare > 0 && route->number.where == &Plan::servers)
        with_servers.push_back(std::string(route->name) + ":" +
                               std::to_string(std::min(spare, demand.ranks)));
    }
  }
  names.insert(names.end(), with_servers.begin(), with_servers.end());
  std::erase_if(names, [&](const std::string& name) { return !lay_out(topology, demand, name, own).ok(); });
  return names;
}

std::vector<std::string> all_routes(const Topology& topology, const Demand& demand) {
  std::vector<std::string> names = candidate_routes(topology, demand);
  for (const Route* route : routes::all()) {
    const bool is_tried = std::find(names.begin(), names.end(), route->name) != names.end();
    if (route->alias && is_tried) names.emplace_back(route->alias);
  }
  return names;
}

}  // namespace thalweg
