#include "cli/work/seed_runs.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/hint.h"
#include "base/random.h"

namespace thalweg {

Result<AskedSeeds> asked_seeds(const Options& options, Output& out) {
  const auto replay = options.maybe_integer("replay");
  const Interval seeds = options.interval("seeds");
  const std::string reduced = options.maybe_text("reduced").value_or("");
  if (!reduced.empty() && !replay) return Status(Code::kUsage, "--reduced goes with --replay SEED");
  auto reductions = sim::parse_reductions(reduced);
  if (!replay && seeds.first == seeds.second) {
    return Status(Code::kUsage, fmt::format("--seeds {}:{} has no seed; expected A:B with A < B", seeds.first,
                                            seeds.second));
  }
  if (!reductions) return Status(Code::kUsage, "--reduced: " + reductions.status().message());
  AskedSeeds asked;
  asked.reductions = *std::move(reductions);
  asked.first = static_cast<std::uint64_t>(replay ? *replay : seeds.first);
  asked.end = replay ? asked.first + 1 : static_cast<std::uint64_t>(seeds.second);
  if (options.flag("trace")) asked.trace = [&](std::string_view line) { out.note(line); };
  return asked;
}

double SeedRuns::per_second(std::uint64_t count) const {
  return static_cast<double>(count) / std::max(seconds, 1e-9);
}

nlohmann::ordered_json SeedRuns::to_json(const nlohmann::ordered_json& own) const {
  nlohmann::ordered_json object;
  object["seeds"] = seeds;
  object["violations"] = failed ? 1 : 0;
  object.update(own);
  object["events"] = events;
  object["trace_hash"] = fmt::format("{:016x}", trace_hash);
  object["seconds"] = seconds;
  object["seeds_per_second"] = per_second(seeds);
  object["events_per_second"] = per_second(events);
  object["simulated_hours"] = virtual_hours;
  if (failed) {
    object["failed_seed"] = failed->seed;
    object["violation"] = failed->violation;
    object["plan"] = failed->plan;
  }
  if (smaller) {
    object["reduced"] = {{"reduced", smaller->reduced},
                         {"violation", smaller->report.violation},
                         {"plan", smaller->report.plan},
                         {"events", smaller->report.events},
                         {"tries", smaller->tries}};
  }
  return object;
}

Status SeedRuns::status(std::string_view command) const {
  if (!failed) return ok_status();
  const auto told = [](const sim::RunReport& report) {
    return fmt::format("after {} events, {:.3f} s: {}\n  {}", report.events,
                       std::chrono::duration<double>(report.virtual_time).count(), report.violation,
                       report.plan);
  };
  std::string text = fmt::format("seed {} broke a promise {}", failed->seed, told(*failed));
  if (smaller)
    text += fmt::format("\n  by less, found in {} tries, {}", smaller->tries, told(smaller->report));
  return with_hint({Code::kRefused, text},
                   fmt::format("replay it with: {} --replay {}{} --trace", command, failed->seed,
                               smaller ? " --reduced " + smaller->reduced : ""));
}

void add(SeedRuns& runs, const sim::RunReport& report) {
  ++runs.seeds;
  runs.events += report.events;
  runs.trace_hash = splitmix(runs.trace_hash ^ report.trace_hash);
  runs.virtual_hours += VirtualHours(report.virtual_time).count();
  if (!report.ok()) runs.failed = report;
}

}  // namespace thalweg
