#include "sim/cluster/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "cluster/pace.h"
#include "sim/trace_line.h"

namespace thalweg::sim {
namespace {

std::string told(const Status& status) {
  return fmt::format("{}: {}", code_name(status.code()), status.message());
}

bool says(const Status& status, std::string_view text) {
  return status.message().find(text) != std::string::npos;
}

// Empty, or what the text of a lost server's error lacks.
std::string unnamed_ranges(const wire::Map& map, std::uint32_t server, const Status& why) {
  for (std::size_t t = 0; t < map.placement.size(); ++t) {
    const RangeSet owned = map.placement[t].only_on(server);
    const std::string lost =
        fmt::format("{} {} of {}", map.tables[t].name, text_of(owned), map.tables[t].ranges);
    if (!owned.empty() && !says(why, lost)) return lost;
  }
  return {};
}

// Whether a node has really heard nothing of the scheduler for as long as it says.
bool scheduler_was_silent(const Cluster& cluster, const Process& process) {
  if (!process.stopped_at) return false;
  const wire::Map& map = process.server != nullptr ? process.server->map() : process.worker->map();
  const Duration silence = process.clock.local(*process.stopped_at) - process.scheduler_heard;
  return silence + 2 * cluster::heartbeat_every(map) >= cluster.workload().plan().timeout;
}

// "server-1 (process-1) was ...", "server-1: scheduler has ...".
std::optional<NodeId> named_first(const Status& why) {
  for (const Role role : {Role::kServer, Role::kWorker}) {
    const std::string any = node_name({role, 0}), stem = any.substr(0, any.size() - 1);
    if (!why.message().starts_with(stem)) continue;
    return NodeId{role,
                  static_cast<std::uint32_t>(std::strtoul(why.message().c_str() + stem.size(), nullptr, 10))};
  }
  return std::nullopt;
}

const Process* process_of(const Cluster& cluster, NodeId id) {
  for (const auto& process : cluster.processes()) {
    if (process->id == id) return process.get();
  }
  return nullptr;
}

// "worker-0 (process-3) was silent too long; no worker is left"
std::string judge_loss(const Cluster& cluster, const Status& why) {
  const std::optional<NodeId> named = named_first(why);
  if (!named) return "it names nobody";
  if (says(why, "scheduler has answered nothing")) {
    const Process* who = process_of(cluster, *named);
    return who != nullptr && scheduler_was_silent(cluster, *who) ? "" : "the scheduler had answered";
  }
  if (!cluster.scheduler().lost(*named)) return "that node was not lost";
  if (says(why, kKilled) && !cluster.patience().dead(*named)) return "nobody said that it died";
  if (named->index >= wire::kFirstObserver) return {};
  if (!cluster.scheduler().started()) return "another one could have taken its place";
  if (named->role == Role::kServer) {
    const wire::Map& map = cluster.scheduler().map();
    const std::string lost = unnamed_ranges(map, named->index, why);
    const auto alone = [&](const Placement& placement) { return !placement.only_on(named->index).empty(); };
    if (cluster.scheduler().view().servers > 0 && std::ranges::none_of(map.placement, alone))
      return "other servers have all that it had";
    return lost.empty() ? "" : "it does not name the lost ranges " + lost;
  }
  if (!says(why, "no worker is left")) return "others could have gone on";
  return cluster.scheduler().view().workers == 0 ? "" : "there are workers left";
}

// "worker-0: pull ... at server-0 waited 60.0 s without progress; not arrived: ..."
std::string judge_timeout(const Cluster& cluster, const Status& why) {
  const Plan& plan = cluster.workload().plan();
  if (says(why, "did not join")) return cluster.scheduler().started() ? "all had joined" : "";
  const double timeout_s = std::chrono::duration<double>(plan.timeout).count();
  constexpr std::string_view kWaited = " waited ";
  const auto at = why.message().find(kWaited);
  if (at == std::string::npos) return "it does not say how long somebody waited";
  if (std::strtod(why.message().c_str() + at + kWaited.size(), nullptr) < timeout_s - 0.1)
    return "nobody waited for as long as the deadline";
  if (!says(why, " at server-") && !says(why, " at scheduler"))
    return "it does not say for whom somebody waited";
  const auto begun_late = Instant{(plan.node_faults.until + recovery_time(plan)).count()};
  return cluster.processes()[0]->stopped_at < begun_late ? "" : "nothing had been in the way for long";
}

// Empty, or why nothing that happened calls for this end of the job.
std::string judge_cause(const Cluster& cluster, const Status& why) {
  // Of a state that has gone back to before the job's end all who were told of that may have left.
  const bool all_left = cluster.went_back() && why.code() == Code::kPeerLost;
  if (cluster.workload().plan().spares_core && !all_left) return "nothing happened that ends a job";
  switch (why.code()) {
    case Code::kPeerLost:
      return judge_loss(cluster, why);
    case Code::kTimeout:
      return judge_timeout(cluster, why);
    default:
      return "no fault ends a job so";
  }
}

// Whether a node may end otherwise than the job: it was replaced, came too late, was turned away, or lost the
// scheduler.
bool may_end_alone(const Cluster& cluster, const Process& process, const Status& how) {
  switch (how.code()) {
    case Code::kData:
      return cluster.scheduler().turned_away(process.id);
    case Code::kRefused:
      return process.id.index >= wire::kFirstTemporary &&
             (says(how, "the job is over") || says(how, "no server can join"));
    case Code::kPeerLost:
      if (says(how, "has been replaced")) {
        if (process.server == nullptr && (process.worker == nullptr || process.kept)) return false;
        return cluster.scheduler().lost(process.id) || cluster.refused();  // That may not know it any more.
      }
      if (how.message() == "scheduler is gone") return process.told_of_scheduler && cluster.gone();
      return says(how, "scheduler has answered nothing") && scheduler_was_silent(cluster, process);
    default:
      return false;
  }
}

// A scheduler in whose place another one came says that it leads no more, or ends as those do that all others
// have left.
std::string judge_former(const Cluster& cluster, const Process& process) {
  if (const auto& fenced = process.kept_scheduler->fenced())
    return fenced->code() == Code::kRefused ? ""
                                            : "a scheduler that was replaced ended with " + told(*fenced);
  const std::optional<Status>& how = process.scheduler->stopped();
  const std::optional<Status>& job = cluster.scheduler().stopped();
  if (!how) return "a scheduler that was replaced does not know that";
  return !how->ok() || (job && job->ok()) ? ""
                                          : "a scheduler that was replaced ended well, and the job did not";
}

// Empty, or what is wrong with how a node that was not killed ended.
std::string judge_node(const Cluster& cluster, const Process& process) {
  if (cluster.former(process)) return judge_former(cluster, process);
  if (process.gave_up || (process.scheduler != nullptr && cluster.refused())) return {};
  const std::optional<Status>& job = cluster.scheduler().stopped();
  const std::optional<Status>& how = *ending(process);
  const std::string name = who(process.id);
  if (!how) return name + " does not know that the job is over";
  if (process.worker != nullptr && process.worker->requests_open() > 0)
    return fmt::format("{} has {} requests open at the end", name, process.worker->requests_open());
  if (job && how->code() == job->code() && how->message() == job->message()) return {};
  if (how->ok() && (cluster.scheduler().has_left(process.id) || cluster.went_back())) return {};
  if (!how->ok() && may_end_alone(cluster, process, *how)) return {};
  return fmt::format("{} ended with {}; the job with {}", name, told(*how), job ? told(*job) : "nothing");
}

}  // namespace

const std::optional<Status>* ending(const Process& process) {
  if (process.scheduler != nullptr) return &process.scheduler->stopped();
  if (process.server != nullptr) return &process.server->membership().stopped();
  return process.worker != nullptr ? &process.worker->membership().stopped() : nullptr;
}

bool ended_well(const Cluster& cluster) {
  const auto& job = cluster.scheduler().stopped();
  return job && job->ok() && !cluster.refused();
}

std::string judge_ends(const Cluster& cluster) {
  const auto& job = cluster.scheduler().stopped();
  if (job && !job->ok()) {
    if (const std::string bad = judge_cause(cluster, *job); !bad.empty())
      return violation(Checker::kEnds, fmt::format("the job ended with {}; {}", told(*job), bad));
  }
  for (const auto& process : cluster.processes()) {
    if (process->node == nullptr) continue;  // Killed.
    if (const std::string bad = judge_node(cluster, *process); !bad.empty())
      return violation(Checker::kEnds, bad);
  }
  return {};
}

}  // namespace thalweg::sim
