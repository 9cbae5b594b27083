// `thalweg simulate faults --groups`: random groups of ranks under random faults, one for each seed.
#include "sim/simulate_groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/random.h"
#include "cli/commands.h"

namespace thalweg {
namespace {

struct GroupTotals {
  std::uint64_t seeds = 0, groups = 0, operations = 0, failures = 0, events = 0;
  std::uint64_t trace_hash = 0;  // Of all seeds in their order.
  double virtual_hours = 0;
  double seconds = 0;
  std::optional<sim::GroupReport> failed;
};

GroupTotals run_group_seeds(std::uint64_t first, std::uint64_t end, const sim::Trace& trace) {
  GroupTotals totals;
  const auto begin = std::chrono::steady_clock::now();
  for (std::uint64_t seed = first; seed < end && !totals.failed; ++seed) {
    sim::GroupReport report = sim::run_group_seed_twice(seed, trace);
    ++totals.seeds;
    totals.groups += report.groups;
    totals.operations += report.operations;
    totals.failures += report.failures;
    totals.events += report.events;
    totals.trace_hash = splitmix(totals.trace_hash ^ report.trace_hash);
    totals.virtual_hours += std::chrono::duration<double, std::ratio<3600>>(report.virtual_time).count();
    if (!report.ok()) totals.failed = std::move(report);
  }
  totals.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return totals;
}

nlohmann::ordered_json groups_to_json(const GroupTotals& totals) {
  nlohmann::ordered_json object;
  object["seeds"] = totals.seeds;
  object["violations"] = totals.failed ? 1 : 0;
  object["groups"] = totals.groups;
  object["operations"] = totals.operations;
  object["failed_operations"] = totals.failures;
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

Status run_simulate_groups(std::uint64_t first, std::uint64_t end,
                           const std::function<void(std::string_view line)>& trace, Output& out) {
  const GroupTotals totals = run_group_seeds(first, end, trace);
  out.json(groups_to_json(totals));
  if (totals.failed) {
    const sim::GroupReport& report = *totals.failed;
    return with_hint(
        {Code::kRefused,
         fmt::format("seed {} broke a promise after {} events, {:.3f} s: {}\n  {}", report.seed,
                     report.events, std::chrono::duration<double>(report.virtual_time).count(),
                     report.violation, report.plan)},
        fmt::format("replay it with: thalweg simulate faults --groups --replay {} --trace", report.seed));
  }
  out.human(
      fmt::format("{} seeds without a violation, {} groups formed, {} operations ended well and {} did not: "
                  "{:.0f} seeds/s, "
                  "{:.0f} events/s, {:.2f} simulated hours, trace hash {:016x}\n",
                  totals.seeds, totals.groups, totals.operations, totals.failures,
                  static_cast<double>(totals.seeds) / std::max(totals.seconds, 1e-9),
                  static_cast<double>(totals.events) / std::max(totals.seconds, 1e-9), totals.virtual_hours,
                  totals.trace_hash));
  return Status::ok();
}

}  // namespace thalweg
