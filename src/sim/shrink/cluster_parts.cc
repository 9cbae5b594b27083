#include "sim/shrink/cluster_parts.h"

#include <algorithm>

namespace thalweg::sim {
namespace {

// Each range keeps its copies, and a server that lives beside those that do not.
std::uint64_t least_servers(const Plan& plan) {
  std::uint64_t least = std::max(plan.replicas, 1u), struck = 0;
  for (const CoreFault& fault : plan.core_faults) {
    if (fault.role != Role::kServer) continue;
    ++struck;
    least = std::max<std::uint64_t>(least, fault.index + std::uint64_t{1});
  }
  return plan.copies() ? std::max(least, struck + 1) : least;
}

// A server that dies leaves a job of one copy only while others come or leave.
bool needs_changes(const Plan& plan) {
  const auto is_server = [](const CoreFault& fault) { return fault.role == Role::kServer; };
  return plan.replicas <= 1 && plan.copies() && std::ranges::any_of(plan.core_faults, is_server);
}
std::uint64_t least_drains(const Plan& plan) { return needs_changes(plan) && plan.joins == 0 ? 1 : 0; }
std::uint64_t least_joins(const Plan& plan) { return needs_changes(plan) && plan.drains == 0 ? 1 : 0; }

std::uint64_t most_steps(const Plan& plan) {
  std::uint32_t most = 0;
  for (const auto& shard : plan.steps) most = std::max(most, *std::ranges::max_element(shard));
  return most;
}

void leave_shards(Plan& plan, std::uint64_t left) {
  plan.shards = static_cast<std::uint32_t>(left);
  plan.steps.resize(left);
  plan.consistency = for_shards(plan.consistency, plan.shards);
}

void leave_restarts(Plan& plan, std::uint64_t left) {
  plan.restarts = static_cast<std::uint32_t>(left);
  if (left == 0) plan.etcd = plan.standby = false;
}

void end_faults_at(Plan& plan, std::uint64_t ms) {
  const Duration until = std::chrono::milliseconds(ms);
  plan.node_faults.until = std::min(plan.node_faults.until, until);
  plan.state_faults.until = std::min(plan.state_faults.until, until);
}

// The largest first.
constexpr Knob<Plan> kClusterParts[] = {
    number_part<Plan>(
        "drains", [](auto& plan) -> auto& { return plan.drains; }, least_drains),
    number_part<Plan>(
        "joins", [](auto& plan) -> auto& { return plan.joins; }, least_joins),
    number_part<Plan>(
        "moves", [](auto& plan) -> auto& { return plan.moves; }),
    {"kills", [](const Plan& plan) { return std::uint64_t{plan.restarts}; }, leave_restarts},
    kind_part<Plan>(
        "drop", [](auto& plan) -> auto& { return plan.frame_faults.drop; }),
    kind_part<Plan>(
        "repeat", [](auto& plan) -> auto& { return plan.frame_faults.repeat; }),
    kind_part<Plan>(
        "delay", [](auto& plan) -> auto& { return plan.frame_faults.delay; }),
    kind_part<Plan>(
        "flip", [](auto& plan) -> auto& { return plan.frame_faults.flip; }),
    kind_part<Plan>(
        "split", [](auto& plan) -> auto& { return plan.frame_faults.split; }),
    kind_part<Plan>(
        "partitions", [](auto& plan) -> auto& { return plan.node_faults.partition; }),
    kind_part<Plan>(
        "clogs", [](auto& plan) -> auto& { return plan.node_faults.clog; }),
    kind_part<Plan>(
        "pauses", [](auto& plan) -> auto& { return plan.node_faults.pause; }),
    kind_part<Plan>(
        "crashes", [](auto& plan) -> auto& { return plan.node_faults.crash; }),
    kind_part<Plan>(
        "disconnects", [](auto& plan) -> auto& { return plan.node_faults.disconnect; }),
    kind_part<Plan>(
        "told", [](auto& plan) -> auto& { return plan.node_faults.told; }),
    kind_part<Plan>(
        "late-deaths", [](auto& plan) -> auto& { return plan.late_deaths; }),
    kind_part<Plan>(
        "unheard", [](auto& plan) -> auto& { return plan.state_faults.unheard; }),
    kind_part<Plan>(
        "unanswered", [](auto& plan) -> auto& { return plan.state_faults.unanswered; }),
    kind_part<Plan>(
        "late", [](auto& plan) -> auto& { return plan.state_faults.late; }),
    kind_part<Plan>(
        "slow", [](auto& plan) -> auto& { return plan.state_faults.slow; }),
    kind_part<Plan>(
        "away", [](auto& plan) -> auto& { return plan.state_faults.away_every; }),
    kind_part<Plan>(
        "forgets", [](auto& plan) -> auto& { return plan.state_faults.forget_every; }),
    kind_part<Plan>(
        "back", [](auto& plan) -> auto& { return plan.state_faults.back_after; }),
    kind_part<Plan>(
        "lease-early", [](auto& plan) -> auto& { return plan.state_faults.lease_early; }),
    kind_part<Plan>(
        "lease-late", [](auto& plan) -> auto& { return plan.state_faults.lease_late; }),
    kind_part<Plan>(
        "cut-off", [](auto& plan) -> auto& { return plan.state_faults.cut_every; }),
    kind_part<Plan>(
        "standby", [](auto& plan) -> auto& { return plan.standby; }),
    kind_part<Plan>(
        "stop", [](auto& plan) -> auto& { return plan.stop_at; }),
    kind_part<Plan>(
        "loads", [](auto& plan) -> auto& { return plan.loads; }),
    kind_part<Plan>(
        "looks", [](auto& plan) -> auto& { return plan.looks; }),
    {"clocks", [](const Plan& plan) { return std::uint64_t{plan.clock_begin_max > Duration{}}; },
     [](Plan& plan, std::uint64_t) {
       plan.clock_begin_max = {};
       plan.clock_rate_off = 0;
     }},
    {"computing", [](const Plan& plan) { return std::uint64_t{plan.compute_max > Duration{}}; },
     [](Plan& plan, std::uint64_t) { plan.compute_min = plan.compute_max = {}; }},
    {"combining", [](const Plan& plan) { return std::uint64_t{plan.combine.kind != Combining::Kind::kNone}; },
     [](Plan& plan, std::uint64_t) { plan.combine = Combining::none(); }},
    kind_part<Plan>(
        "jitter", [](auto& plan) -> auto& { return plan.jitter; }),
    {"faults-ms",
     [](const Plan& plan) {
       return static_cast<std::uint64_t>(std::max(plan.node_faults.until, plan.state_faults.until) /
                                         std::chrono::milliseconds(1));
     },
     end_faults_at},
    {"shards", [](const Plan& plan) { return std::uint64_t{plan.shards}; }, leave_shards, least_one},
    number_part<Plan>(
        "workers", [](auto& plan) -> auto& { return plan.workers; }, least_one),
    number_part<Plan>(
        "servers", [](auto& plan) -> auto& { return plan.servers; }, least_servers),
    {"epochs", [](const Plan& plan) { return std::uint64_t{plan.epochs()}; },
     [](Plan& plan, std::uint64_t left) {
       for (auto& shard : plan.steps) shard.resize(left);
     },
     least_one},
    {"steps", most_steps,
     [](Plan& plan, std::uint64_t left) {
       for (auto& shard : plan.steps) {
         for (std::uint32_t& steps : shard) steps = std::min(steps, static_cast<std::uint32_t>(left));
       }
     },
     least_one},
    {"tables", [](const Plan& plan) { return std::uint64_t{plan.tables.size()}; },
     [](Plan& plan, std::uint64_t left) { plan.tables.resize(left); }, least_one},
    number_part<Plan>(
        "keys", [](auto& plan) -> auto& { return plan.keys; }, least_one),
};

}  // namespace

Consistency for_shards(Consistency consistency, std::uint32_t shards) {
  std::uint32_t& bound = consistency.bound;
  if (consistency.counts_pushes()) bound = std::min(bound, shards);
  if (consistency.kind == Consistency::Kind::kBackup) bound = std::min(bound, shards - 1);
  return consistency;
}

const Parts<Plan>& parts_of(const Plan& /*plan*/) {
  static constexpr Parts<Plan> kParts = {
      .what = "this seed's cluster",
      .single = single_parts<Plan>(
          "fault", 0, [](auto& plan) -> auto& { return plan.core_faults; }),
      .knobs = kClusterParts};
  return kParts;
}

}  // namespace thalweg::sim
