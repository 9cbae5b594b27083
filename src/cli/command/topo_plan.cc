// topo plan.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/command/command.h"
#include "cli/command/exchange_simulation.h"
#include "cli/options/options.h"
#include "cli/options/sizes.h"
#include "cli/view/output.h"
#include "exchange/plan/lower_bound.h"
#include "exchange/plan/planner.h"

namespace thalweg {
namespace {

std::string cut_text(const Plan& plan) {
  std::string text =
      plan.piece_elements == 0 ? "whole" : size_text(plan.piece_elements * Demand::kElementBytes);
  if (plan.channels > 1) text += fmt::format(", {} channels", plan.channels);
  return text;
}

nlohmann::ordered_json to_json(const Forecast& forecast) {
  const Plan& plan = forecast.layout.plan;
  nlohmann::ordered_json object{{"route", forecast.layout.route},
                                {"time_seconds", forecast.seconds},
                                {"by", forecast.simulated ? "simulation" : "formula"},
                                {"piece_bytes", plan.piece_elements * Demand::kElementBytes},
                                {"channels", plan.channels}};
  for (const PlanLevel& level : plan.levels) {
    object["levels"].push_back(level.size);
    object["level_ways"].push_back(level_way_name(level.way));
  }
  for (const Ring& ring : plan.rings)
    object["rings"].push_back({{"weight", ring.weight}, {"order", ring.order}});
  for (const Tree& tree : plan.trees) {
    object["trees"].push_back({{"weight", tree.weight}, {"root", tree.root}, {"parent", tree.parent}});
  }
  return object;
}

Status run_topo_plan(const Options& options, Output& out) {
  const auto wanted = wanted_exchanges(options, "plan");
  if (!wanted) return wanted.status();
  if (wanted->ranks.size() > 1 || wanted->bytes.size() > 1) {
    return {Code::kUsage, "topo plan takes one number of ranks and one size; simulate exchange takes lists"};
  }
  Demand demand{.operation = wanted->operation,
                .bytes = wanted->bytes[0],
                .ranks = wanted->ranks[0],
                .pipelined = wanted->pipelined};
  const auto topology = room_for(wanted->topology, "", demand);
  if (!topology) return topology.status();
  const auto forecasts = forecast_routes(*topology, demand);
  if (!forecasts) return forecasts.status();
  const double bound = lower_bound_seconds(*topology, demand, forecasts->front().layout);
  std::size_t width = 20;
  for (const Forecast& forecast : *forecasts) width = std::max(width, forecast.layout.route.size() + 2);
  out.human(fmt::format(
      "{} of {} among {} ranks on {}; no route takes less than {}\n{:<4}{:<{}}{:>14}{:>10}  {:<24}{}\n",
      operation_name(demand.operation), size_text(demand.bytes), demand.ranks, topology->name(),
      seconds_text(bound), "", "route", width, "time", "x best", "pieces", "by"));
  nlohmann::ordered_json ranking = nlohmann::ordered_json::array();
  std::size_t place = 0;
  for (const Forecast& forecast : *forecasts) {
    const double best = forecasts->front().seconds;
    out.human(fmt::format("{:<4}{:<{}}{:>14}{:>10.2f}  {:<24}{}\n", ++place, forecast.layout.route, width,
                          seconds_text(forecast.seconds), best > 0 ? forecast.seconds / best : 1,
                          cut_text(forecast.layout.plan), forecast.simulated ? "simulation" : "formula"));
    ranking.push_back(to_json(forecast));
  }
  out.json({{"topology", topology->name()},
            {"operation", operation_name(demand.operation)},
            {"ranks", demand.ranks},
            {"bytes", demand.bytes},
            {"lower_bound_seconds", bound},
            {"choice", forecasts->front().layout.route},
            {"routes", ranking}});
  return ok_status();
}

}  // namespace

extern constinit const Command kTopoPlanCommand = {
    .path = "topo plan",
    .summary = "Rank the routes that an exchange could take by their predicted times",
    .example = "thalweg topo plan --topology dgx1v --op all-reduce --bytes 160M",
    .run = run_topo_plan,
    .options = {kPlanOptions, "plan-ranks|plan-bytes"},
};

}  // namespace thalweg
