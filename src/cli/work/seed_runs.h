// Simulated runs of one seed after another, until one breaks a promise.
#pragma once

#include <chrono>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <ratio>
#include <string>
#include <string_view>

#include "cli/options/options.h"
#include "cli/view/output.h"
#include "sim/report.h"
#include "sim/shrink/parts.h"
#include "thalweg/status.h"

namespace thalweg {

using VirtualHours = std::chrono::duration<double, std::ratio<3600>>;

// Of --seeds or --replay, --reduced and --trace.
struct AskedSeeds {
  std::uint64_t first = 0, end = 0;  // From `first` to `end` - 1.
  sim::Reductions reductions;        // Of a single seed.
  sim::Trace trace;                  // May be empty.
};
// `out` outlives the trace.
Result<AskedSeeds> asked_seeds(const Options& options, Output& out);

struct SeedRuns {
  std::uint64_t seeds = 0;
  std::uint64_t events = 0;
  std::uint64_t trace_hash = 0;  // Of all seeds in their order.
  double virtual_hours = 0;
  double seconds = 0;
  std::optional<sim::RunReport> failed;
  // The same promise broken by less.
  struct Smaller {
    sim::RunReport report;
    std::string reduced;  // As --reduced takes it.
    std::uint64_t tries = 0;
  };
  std::optional<Smaller> smaller;

  double per_second(std::uint64_t count) const;
  // `own`: what a run of this kind counts besides.
  nlohmann::ordered_json to_json(const nlohmann::ordered_json& own) const;
  // OK, or what broke, with how `command` shows it again.
  Status status(std::string_view command) const;
};

// One more run.
void add(SeedRuns& runs, const sim::RunReport& report);

// Runs `run(seed)`, whose report it gives to `count`, from `first` to `end` - 1.
template <class Run, class Count>
SeedRuns run_seeds(std::uint64_t first, std::uint64_t end, const Run& run, const Count& count) {
  SeedRuns runs;
  const auto begin = std::chrono::steady_clock::now();
  for (std::uint64_t seed = first; seed < end && !runs.failed; ++seed) {
    const auto report = run(seed);
    add(runs, report);
    count(report);
  }
  runs.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return runs;
}

}  // namespace thalweg
