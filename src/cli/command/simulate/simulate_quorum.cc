// `thalweg simulate quorum`: servers of versioned values under random faults, one ring for each seed.
#include <fmt/format.h>

#include "cli/command/command.h"
#include "cli/work/plan_runs.h"
#include "cli/work/seed_runs.h"
#include "sim/quorum/simulate_quorum.h"

namespace thalweg {
namespace {

Status run_simulate_quorum(const Options& options, Output& out) {
  const auto asked = asked_seeds(options, out);
  if (!asked) return asked.status();
  sim::QuorumReport all;
  std::uint64_t fresh_gets = 0;  // Where quorums overlap.
  const auto ran = run_plans(
      *asked, sim::quorum_seeds(),
      [&](const sim::QuorumReport& report) {
        all.puts += report.puts;
        all.gets += report.gets;
        all.failed += report.failed;
        all.stale += report.stale;
        fresh_gets += report.fresh ? report.gets : 0;
        all.hints_kept += report.hints_kept;
        all.hints_delivered += report.hints_delivered;
        all.repairs += report.repairs;
        all.disks += report.disks;
      },
      out);
  if (!ran) return ran.status();
  const SeedRuns& runs = *ran;
  out.json(runs.to_json({{"puts", all.puts},
                         {"gets", all.gets},
                         {"gets_of_overlapping_quorums", fresh_gets},
                         {"failed_requests", all.failed},
                         {"stale_gets", all.stale},
                         {"hints_kept", all.hints_kept},
                         {"hints_delivered", all.hints_delivered},
                         {"repairs", all.repairs},
                         {"disks_lost", all.disks}}));
  if (runs.failed) return runs.status("thalweg simulate quorum");
  out.human(fmt::format(
      "{} seeds without a violation, {} puts and {} gets answered, {} in vain; of overlapping quorums {} "
      "gets and none stale, of the others {} stale: {:.0f} seeds/s, {:.0f} events/s, {:.2f} simulated "
      "hours, trace hash {:016x}\n",
      runs.seeds, all.puts, all.gets, all.failed, fresh_gets, all.stale, runs.per_second(runs.seeds),
      runs.per_second(runs.events), runs.virtual_hours, runs.trace_hash));
  return ok_status();
}

}  // namespace

extern constinit const Command kSimulateQuorumCommand = {
    .path = "simulate quorum",
    .summary = "Run random rings of servers of versioned values in which anything may fail, and check them",
    .example = "thalweg simulate quorum --seeds 0:1000",
    .run = run_simulate_quorum,
    .options = {"seeds|replay|trace|reduced"},
};

}  // namespace thalweg
