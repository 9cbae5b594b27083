// `thalweg simulate faults`: random clusters under random faults, one for each seed.
#include <fmt/format.h>

#include <algorithm>

#include "cli/command/command.h"
#include "cli/options/options.h"
#include "cli/view/output.h"
#include "cli/work/seed_runs.h"
#include "cli/work/simulate_groups.h"

namespace thalweg {

namespace {

Result<sim::Servers> simulated_servers(const Options& options) {
  const char* given = nullptr;
  for (const char* const flag : {"groups", "copies", "drains", "joins", "restarts", "schedulers"}) {
    if (!options.flag(flag)) continue;
    if (given != nullptr)
      return Status(Code::kUsage, fmt::format("--{} cannot be combined with --{}", flag, given));
    given = flag;
  }
  if (options.flag("restarts")) return sim::Servers::kRestarted;
  if (options.flag("schedulers")) return sim::Servers::kTakenUp;
  if (options.flag("joins")) return sim::Servers::kJoined;
  if (options.flag("drains")) return sim::Servers::kDrained;
  return options.flag("copies") ? sim::Servers::kCopied : sim::Servers::kAny;
}

Status run_simulate_faults(const Options& options, Output& out) {
  const auto replay = options.maybe_integer("replay");
  const Interval seeds = options.interval("seeds");
  const auto first = static_cast<std::uint64_t>(replay ? *replay : seeds.first);
  const auto end = replay ? first + 1 : static_cast<std::uint64_t>(seeds.second);
  sim::Trace trace;
  if (options.flag("trace")) trace = [&](std::string_view line) { out.note(line); };
  const auto servers = simulated_servers(options);
  if (!servers) return servers.status();
  if (options.flag("groups")) return run_simulate_groups(first, end, trace, out);
  std::uint64_t whole_models = 0;
  double time_used_max = 0;  // Of the virtual time that a run is allowed.
  const SeedRuns runs = run_seeds(
      first, end, [&](std::uint64_t seed) { return sim::run_seed_twice(seed, trace, *servers); },
      [&](const sim::Report& report) {
        whole_models += report.ok() && report.ended_well;
        time_used_max =
            std::max(time_used_max, VirtualHours(report.virtual_time) / VirtualHours(report.time_allowed));
      });
  const std::uint64_t errors = runs.seeds - whole_models - (runs.failed ? 1 : 0);
  out.json(runs.to_json(
      {{"whole_models", whole_models}, {"expected_errors", errors}, {"time_used_max", time_used_max}}));
  if (runs.failed)
    return runs.status(*servers == sim::Servers::kRestarted ? "thalweg simulate faults --restarts"
                       : *servers == sim::Servers::kTakenUp ? "thalweg simulate faults --schedulers"
                       : *servers == sim::Servers::kJoined  ? "thalweg simulate faults --joins"
                       : *servers == sim::Servers::kDrained ? "thalweg simulate faults --drains"
                       : *servers == sim::Servers::kCopied  ? "thalweg simulate faults --copies"
                                                            : "thalweg simulate faults");
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
    .options = {"seeds|replay|groups|copies|drains|joins|restarts|schedulers|trace"},
};

}  // namespace thalweg
