// `thalweg simulate faults --groups`.
#include "cli/work/simulate_groups.h"

#include <fmt/format.h>

#include "cli/command/commands.h"
#include "cli/work/plan_runs.h"
#include "sim/group/simulate_groups.h"

namespace thalweg {

Status run_simulate_groups(const AskedSeeds& asked, Output& out) {
  std::uint64_t groups = 0, operations = 0, failures = 0;
  const auto ran = run_plans(
      asked, sim::group_seeds(),
      [&](const sim::GroupReport& report) {
        groups += report.groups;
        operations += report.operations;
        failures += report.failures;
      },
      out);
  if (!ran) return ran.status();
  const SeedRuns& runs = *ran;
  out.json(runs.to_json({{"groups", groups}, {"operations", operations}, {"failed_operations", failures}}));
  if (runs.failed) return runs.status("thalweg simulate faults --groups");
  out.human(
      fmt::format("{} seeds without a violation, {} groups formed, {} operations ended well and {} did not: "
                  "{:.0f} seeds/s, "
                  "{:.0f} events/s, {:.2f} simulated hours, trace hash {:016x}\n",
                  runs.seeds, groups, operations, failures, runs.per_second(runs.seeds),
                  runs.per_second(runs.events), runs.virtual_hours, runs.trace_hash));
  return ok_status();
}

}  // namespace thalweg
