#include "exchange/plan/planner.h"

#include <algorithm>
#include <limits>

#include "exchange/plan/cost.h"
#include "exchange/plan/hierarchies.h"
#include "exchange/plan/simulate_exchange.h"
#include "exchange/route/route.h"

namespace thalweg {
namespace {

bool same_cuts(const Plan& a, const Plan& b) {
  return a.piece_elements == b.piece_elements && a.channels == b.channels;
}

// Routes by name, and hierarchies besides the one that the topology's places suggest.
std::vector<std::string> names_to_try(const Topology& topology, const Demand& demand,
                                      std::span<const Route* const> own) {
  std::vector<std::string> names = candidate_routes(topology, demand, own);
  const auto suggested = lay_out(topology, demand, routes::kHierarchical.name);
  for (std::string& name : fastest_hierarchies(topology, demand, kHierarchiesTried)) {
    const auto layout = lay_out(topology, demand, name);
    if (layout.ok() && layout->plan.levels != suggested->plan.levels) names.push_back(std::move(name));
  }
  return names;
}

// What is worth a forecast: each route in pieces and, where that differs, whole.
Result<std::vector<Forecast>> candidates(const Topology& topology, const Demand& demand,
                                         std::span<const Route* const> own) {
  std::vector<Forecast> made;
  for (const std::string& route : names_to_try(topology, demand, own)) {
    for (const bool pipelined : {true, false}) {
      if (pipelined && !demand.pipelined) continue;
      Demand each = demand;
      each.pipelined = pipelined;
      auto layout = lay_out(topology, each, route, own);
      if (!layout.ok()) return layout.status();
      if (!made.empty() && made.back().layout.route == route &&
          same_cuts(made.back().layout.plan, layout->plan)) {
        continue;
      }
      const double seconds = predicted_seconds(topology, each, *layout);
      made.push_back({*std::move(layout), pipelined, seconds, false});
    }
  }
  return made;
}

bool faster(const Forecast& a, const Forecast& b) { return a.seconds < b.seconds; }

}  // namespace

Result<std::vector<Forecast>> forecast_routes(const Topology& topology, const Demand& asked,
                                              std::span<const Route* const> own) {
  Demand demand = asked;
  if (demand.operation == Operation::kBarrier) demand.bytes = Demand::kElementBytes;
  auto forecasts = candidates(topology, demand, own);
  if (!forecasts.ok()) return forecasts.status();
  if (forecasts->empty()) {
    return Status(Code::kUsage, std::string("no route does ") + operation_name(demand.operation) +
                                    " on topology " + topology.name() + " with " +
                                    std::to_string(demand.ranks) + " ranks");
  }
  std::stable_sort(forecasts->begin(), forecasts->end(), faster);
  double best = std::numeric_limits<double>::infinity();
  for (Forecast& forecast : *forecasts) {
    const bool hopeless = forecast.seconds > kFormulaTrust * best;
    if (hopeless || predicted_messages(demand, forecast.layout) > kForecastMessagesMax) continue;
    const auto result = simulate_exchange(topology, demand, forecast.layout);
    if (!result) return result.status();
    forecast.seconds = result->seconds;
    forecast.simulated = true;
    best = std::min(best, forecast.seconds);
  }
  std::stable_sort(forecasts->begin(), forecasts->end(), faster);
  return forecasts;
}

Result<Layout> choose_route(const Topology& topology, const Demand& demand,
                            std::span<const Route* const> own) {
  auto forecasts = forecast_routes(topology, demand, own);
  if (!forecasts.ok()) return forecasts.status();
  return std::move(forecasts->front().layout);
}

}  // namespace thalweg
