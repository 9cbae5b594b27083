// `thalweg simulate faults`: random clusters under random faults, one for each seed.
#include "sim/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/mix.h"
#include "base/random.h"
#include "cli/commands.h"

namespace thalweg {
namespace {

struct Totals {
  std::uint64_t seeds = 0;
  std::uint64_t whole_models = 0;
  double time_used_max = 0;  // Of the virtual time that a run is allowed.
  std::uint64_t events = 0;
  std::uint64_t trace_hash = 0;  // Of all seeds in their order.
  double virtual_hours = 0;
  double seconds = 0;
  std::optional<sim::Report> failed;
};

double hours(Duration duration) { return std::chrono::duration<double, std::ratio<3600>>(duration).count(); }

Totals run_seeds(std::uint64_t first, std::uint64_t end, const sim::Trace& trace) {
  Totals totals;
  const auto begin = std::chrono::steady_clock::now();
  for (std::uint64_t seed = first; seed < end && !totals.failed; ++seed) {
    sim::Report report = sim::run_seed_twice(seed, trace);
    ++totals.seeds;
    totals.whole_models += report.ok() && report.ended_well;
    totals.time_used_max =
        std::max(totals.time_used_max, hours(report.virtual_time) / hours(report.time_allowed));
    totals.events += report.events;
    totals.trace_hash = splitmix(totals.trace_hash ^ report.trace_hash);
    totals.virtual_hours += hours(report.virtual_time);
    if (!report.ok()) totals.failed = std::move(report);
  }
  totals.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return totals;
}

nlohmann::ordered_json to_json(const Totals& totals) {
  nlohmann::ordered_json object;
  object["seeds"] = totals.seeds;
  object["violations"] = totals.failed ? 1 : 0;
  object["whole_models"] = totals.whole_models;
  object["expected_errors"] = totals.seeds - totals.whole_models - (totals.failed ? 1 : 0);
  object["time_used_max"] = totals.time_used_max;
  object["events"] = totals.events;
  object["trace_hash"] = fmt::format("{:016x}", totals.trace_hash);
  object["seconds"] = totals.seconds;
  object["seeds_per_second"] = static_cast<double>(totals.seeds) / std::max(totals.seconds, 1e-9);
  object["events_per_second"] = static_cast<double>(totals.events) / std::max(totals.seconds, 1e-9);
  object["simulated_hours"] = totals.virtual_hours;
  if (totals.failed) {
    object["failed_seed"] = totals.failed->seed;
    object["violation"] = totals.failed->violation;
    object["plan"] = totals.failed->plan;
  }
  return object;
}

}  // namespace

Status run_simulate_faults(const Options& options, Output& out) {
  const auto replay = options.maybe_integer("replay");
  const Interval seeds = options.interval("seeds");
  const auto first = static_cast<std::uint64_t>(replay ? *replay : seeds.first);
  const auto end = replay ? first + 1 : static_cast<std::uint64_t>(seeds.second);
  sim::Trace trace;
  if (options.flag("trace")) trace = [&](std::string_view line) { out.note(line); };
  if (options.flag("groups")) return run_simulate_groups(first, end, trace, out);
  const Totals totals = run_seeds(first, end, trace);
  out.json(to_json(totals));
  if (totals.failed) {
    const sim::Report& report = *totals.failed;
    return with_hint({Code::kRefused,
                      fmt::format("seed {} broke a promise after {} events, {:.3f} s: {}\n  {}", report.seed,
                                  report.events, std::chrono::duration<double>(report.virtual_time).count(),
                                  report.violation, report.plan)},
                     fmt::format("replay it with: thalweg simulate faults --replay {} --trace", report.seed));
  }
  out.human(fmt::format(
      "{} seeds without a violation, {} whole models and {} errors as promised: {:.0f} seeds/s, "
      "{:.0f} events/s, {:.2f} simulated hours, at most {:.0f} % of the time allowed, trace hash {:016x}\n",
      totals.seeds, totals.whole_models, totals.seeds - totals.whole_models,
      static_cast<double>(totals.seeds) / std::max(totals.seconds, 1e-9),
      static_cast<double>(totals.events) / std::max(totals.seconds, 1e-9), totals.virtual_hours,
      100 * totals.time_used_max, totals.trace_hash));
  return Status::ok();
}

}  // namespace thalweg
