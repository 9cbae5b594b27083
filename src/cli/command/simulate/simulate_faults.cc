// `thalweg simulate faults`: random clusters under random faults, one for each seed.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>

#include "cli/command/command.h"
#include "cli/work/seed_runs.h"
#include "cli/work/simulate_groups.h"
#include "sim/cluster/run_plan.h"
#include "sim/shrink/shrink.h"

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

Result<sim::Reductions> asked_reductions(const Options& options, const Flavour& flavour) {
  const std::string text = options.maybe_text("reduced").value_or("");
  if (text.empty()) return sim::Reductions();
  if (!options.maybe_integer("replay") || flavour.flag == kGroups.flag ||
      flavour.servers == sim::Servers::kRestarted) {
    return Status(
        Code::kUsage,
        "--reduced goes with --replay SEED, and neither with --groups nor with --restarts, whose runs "
        "are no single cluster's");
  }
  auto reductions = sim::parse_reductions(text);
  if (!reductions) return Status(Code::kUsage, "--reduced: " + reductions.status().message());
  return reductions;
}

// Looks for less that breaks the same promise.
void shrink_failed(const Flavour& flavour, SeedRuns& runs, Output& out) {
  constexpr auto kLongest = std::chrono::seconds(60);
  out.note("looking for a smaller cluster that breaks the same promise, for a minute at most");
  const sim::Plan plan = sim::plan_of(runs.failed->seed, flavour.servers);
  const auto begin = std::chrono::steady_clock::now();
  sim::Report failed;
  static_cast<sim::RunReport&>(failed) = *runs.failed;
  const sim::Shrunk shrunk = sim::shrink(
      plan, failed, [](const sim::Plan& smaller) { return sim::run_plan_twice(smaller); },
      [&] { return std::chrono::steady_clock::now() - begin < kLongest; });
  if (shrunk.reductions.empty()) return;
  runs.smaller = SeedRuns::Smaller{shrunk.report, sim::to_text(shrunk.reductions), shrunk.tries};
}

Status run_simulate_faults(const Options& options, Output& out) {
  const AskedSeeds asked = asked_seeds(options, out);
  const auto flavour = asked_flavour(options);
  if (!flavour) return flavour.status();
  const auto reductions = asked_reductions(options, *flavour);
  if (!reductions) return reductions.status();
  if (flavour->flag == kGroups.flag) return run_simulate_groups(asked, out);
  const bool of_plans = flavour->servers != sim::Servers::kRestarted;
  std::uint64_t whole_models = 0;
  double time_used_max = 0;  // Of the virtual time that a run is allowed.
  if (!reductions->empty()) {
    sim::Plan plan = sim::plan_of(asked.first, flavour->servers);
    if (Status status = sim::reduce(plan, *reductions); !status.ok())
      return {status.code(), "--reduced: " + status.message()};
  }
  SeedRuns runs = run_seeds(
      asked.first, asked.end,
      [&](std::uint64_t seed) {
        if (!of_plans) return sim::run_seed_twice(seed, asked.trace, flavour->servers);
        sim::Plan plan = sim::plan_of(seed, flavour->servers);
        (void)sim::reduce(plan, *reductions);  // It has been tried.
        return sim::run_plan_twice(plan, asked.trace);
      },
      [&](const sim::Report& report) {
        whole_models += report.ok() && report.ended_well;
        time_used_max =
            std::max(time_used_max, VirtualHours(report.virtual_time) / VirtualHours(report.time_allowed));
      });
  if (runs.failed && of_plans && reductions->empty() && !asked.trace) shrink_failed(*flavour, runs, out);
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
