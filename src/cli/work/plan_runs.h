// Simulated runs of plans, one for each seed. The first that breaks a promise is made smaller.
#pragma once

#include <chrono>
#include <cstdint>

#include "cli/view/output.h"
#include "cli/work/seed_runs.h"
#include "sim/report.h"
#include "sim/shrink/seeds.h"
#include "thalweg/status.h"

namespace thalweg {

// Gives each report to `count`.
template <class R, class Count>
Result<SeedRuns> run_plans(const AskedSeeds& asked, const sim::Seeds<R>& seeds, const Count& count,
                           Output& out) {
  if (!asked.reductions.empty()) {
    if (const Status status = seeds.check(asked.first, asked.reductions); !status.ok())
      return Status(status.code(), "--reduced: " + status.message());
  }
  SeedRuns runs = run_seeds(
      asked.first, asked.end,
      [&](std::uint64_t seed) { return seeds.run(seed, asked.reductions, asked.trace); }, count);
  if (!runs.failed || !asked.reductions.empty() || asked.trace) return runs;
  constexpr auto kLongest = std::chrono::seconds(60);
  out.note("looking for less of it that breaks the same promise, for a minute at most");
  const auto begin = std::chrono::steady_clock::now();
  const sim::Shrunk shrunk =
      seeds.shrink(*runs.failed, [&] { return std::chrono::steady_clock::now() - begin < kLongest; });
  if (!shrunk.reductions.empty())
    runs.smaller = SeedRuns::Smaller{shrunk.report, sim::to_text(shrunk.reductions), shrunk.tries};
  return runs;
}

}  // namespace thalweg
