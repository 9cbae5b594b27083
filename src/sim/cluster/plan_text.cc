#include <fmt/format.h>

#include <string>
#include <string_view>

#include "sim/cluster/plan.h"

namespace thalweg::sim {
namespace {

std::string describe_state(const Plan& plan) {
  if (!plan.etcd) return {};
  const StateFaults& faults = plan.state_faults;
  return fmt::format(", its state in an etcd: unheard {:.2f} unanswered {:.2f} late {:.2f}{}{}{}{}{}{}{}{}",
                     faults.unheard, faults.unanswered, faults.late, faults.slow > Duration{} ? " slow" : "",
                     faults.away_every > Duration{} ? " away" : "",
                     faults.forget_every > Duration{} ? " forgetful" : "",
                     plan.standby ? " with a standby" : "",
                     plan.standby && faults.lease_early > 0 ? " leases end early" : "",
                     plan.standby && faults.lease_late > 0 ? " leases end late" : "",
                     plan.standby && faults.cut_every > Duration{} ? " cut off" : "",
                     faults.back_after > 0 ? " goes back" : "");
}

}  // namespace

std::string describe(const Plan& plan) {
  constexpr std::string_view kModes[] = {"sync",   "bounded",       "async",   "softsync",
                                         "backup", "free softsync", "max wait"};
  std::string mode(kModes[static_cast<std::size_t>(plan.consistency.kind)]);
  if (plan.consistency.kind != Consistency::Kind::kSync && plan.consistency.kind != Consistency::Kind::kAsync)
    mode += fmt::format(" {}", plan.consistency.bound);
  if (plan.combine.kind == Combining::Kind::kMachine)
    mode += fmt::format(" combined on {} machines", plan.machines);
  if (plan.combine.is_tree()) {
    const bool both_ways = plan.combine.kind == Combining::Kind::kTreeBothWays;
    mode += fmt::format(" combined in a tree of {}{}", plan.combine.arity, both_ways ? ", both ways" : "");
  }
  std::string tables;
  for (const TableSpec& table : plan.tables) {
    tables +=
        fmt::format(" {}({} dim {} ranges {} rule {})", table.name,
                    table.kind == TableSpec::Kind::kDense ? fmt::format("dense {}", table.rows) : "sparse",
                    table.dim, table.ranges, static_cast<int>(table.rule.kind));
  }
  const std::string computing =
      plan.compute_max > Duration{}
          ? fmt::format(", computing up to {:.3f} s", static_cast<double>(plan.compute_max.count()) * 1e-9)
          : "";
  std::string core = plan.spares_core ? "" : ", nobody is spared";
  for (const CoreFault& fault : plan.core_faults) {
    core += fmt::format(", {} {} at event {}", fault.pause > Duration{} ? "pause of" : "death of",
                        fault.role == Role::kScheduler ? "the scheduler"
                        : fault.role == Role::kWorker  ? "the first worker"
                                                       : fmt::format("server {}", fault.index),
                        fault.event);
  }
  const FrameFaults& f = plan.frame_faults;
  const NodeFaults& n = plan.node_faults;
  const std::string replicas =
      plan.replicas > 1 ? fmt::format(" of which {} have each range", plan.replicas) : "";
  return fmt::format(
      "{}, servers {}{}, workers {}, shards {}, epochs {}, tables:{}, drop {:.2f} repeat {:.2f} delay {:.2f} "
      "flip {:.2f} split {:.2f}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}",
      mode, plan.servers, replicas, plan.workers, plan.shards, plan.epochs(), tables, f.drop, f.repeat,
      f.delay, f.flip, f.split, n.partition ? " partitions" : "", n.clog ? " clogs" : "",
      n.pause ? " pauses" : "", n.crash ? " crashes" : "", n.disconnect ? " disconnects" : "",
      n.told > 0 ? " deaths are told" : "", plan.stops() ? " stop" : "", plan.loads ? " loads" : "",
      plan.clock_begin_max > Duration{} ? fmt::format(" clocks off by {:.2f}", plan.clock_rate_off) : "",
      computing, core, plan.moves > 0 ? fmt::format(", {} moves of ranges", plan.moves) : "",
      plan.drains > 0 ? fmt::format(", {} times a server is to leave", plan.drains) : "",
      plan.joins > 0 ? fmt::format(", {} servers join", plan.joins) : "",
      plan.restarts > 0
          ? fmt::format(", the scheduler is killed {} times{}", plan.restarts, describe_state(plan))
          : "");
}

}  // namespace thalweg::sim
