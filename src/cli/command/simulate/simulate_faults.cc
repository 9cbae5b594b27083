// `thalweg simulate faults`: random clusters under random faults, one for each seed.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "cli/command/command.h"
#include "cli/work/plan_runs.h"
#include "cli/work/seed_runs.h"
#include "cli/work/simulate_groups.h"
#include "sim/cluster/run_plan.h"

namespace thalweg {

namespace {

struct Flavour {
  std::string_view flag;  // Empty: that of no flag.
  sim::Servers servers;
};
constexpr Flavour kGroups = {"groups", sim::Servers::kAny};  // Of groups there are no servers.
constexpr Flavour kFlavours[] = {kGroups,
                                 {"copies", sim::Servers::kCopied},
                                 {"drains", sim::Servers::kDrained},
                                 {"joins", sim::Servers::kJoined},
                                 {"restarts", sim::Servers::kRestarted},
                                 {"schedulers", sim::Servers::kTakenUp}};

Result<Flavour> asked_flavour(const Options& options) {
  Flavour asked = {"", sim::Servers::kAny};
  for (const Flavour& flavour : kFlavours) {
    if (!options.flag(flavour.flag)) continue;
    if (!asked.flag.empty()) {
      return Status(Code::kUsage, fmt::format("--{} cannot be combined with --{}", flavour.flag, asked.flag));
    }
    asked = flavour;
  }
  return asked;
}

Status run_simulate_faults(const Options& options, Output& out) {
  const auto asked = asked_seeds(options, out);
  if (!asked) return asked.status();
  const auto flavour = asked_flavour(options);
  if (!flavour) return flavour.status();
  if (flavour->flag == kGroups.flag) return run_simulate_groups(*asked, out);
  std::uint64_t whole_models = 0;
  double time_used_max = 0;  // Of the virtual time that a run is allowed.
  const auto count = [&](const sim::Report& report) {
    whole_models += report.ok() && report.ended_well;
    time_used_max =
        std::max(time_used_max, VirtualHours(report.virtual_time) / VirtualHours(report.time_allowed));
  };
  const auto ran = run_plans(*asked, sim::cluster_seeds(flavour->servers), count, out);
  if (!ran) return ran.status();
  const SeedRuns& runs = *ran;
  const std::uint64_t errors = runs.seeds - whole_models - (runs.failed ? 1 : 0);
  out.json(runs.to_json(
      {{"whole_models", whole_models}, {"expected_errors", errors}, {"time_used_max", time_used_max}}));
  if (runs.failed) {
    return runs.status(
        fmt::format("thalweg simulate faults{}{}", flavour->flag.empty() ? "" : " --", flavour->flag));
  }
  out.human(fmt::format(
      "{} seeds without a violation, {} whole models and {} errors as promised: {:.0f} seeds/s, "
      "{:.0f} events/s, {:.2f} simulated hours, at most {:.0f} % of the time allowed, trace hash {:016x}\n",
      runs.seeds, whole_models, errors, runs.per_second(runs.seeds), runs.per_second(runs.events),
      runs.virtual_hours, 100 * time_used_max, runs.trace_hash));
  return ok_status();
}

}  // namespace

extern constinit const Command kSimulateFaultsCommand = {
    .path = "simulate faults",
    .summary = "Run random clusters in which any node, link or clock may fail, and check what they promise",
    .example = "thalweg simulate faults --seeds 0:1000",
    .run = run_simulate_faults,
    .options = {"seeds|replay|groups|copies|drains|joins|restarts|schedulers|trace|reduced"},
};

}  // namespace thalweg
