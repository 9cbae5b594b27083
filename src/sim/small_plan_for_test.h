// Jobs of some dozens of events each, in which nothing goes wrong by itself.
#pragma once

#include <chrono>
#include <cstdint>

#include "sim/cluster/plan.h"

namespace thalweg::sim {

// Each data shard makes `steps`.
inline Plan small_plan(std::uint32_t servers, std::uint32_t workers, std::uint32_t shards,
                       std::uint32_t steps, Consistency consistency = {}) {
  using namespace std::chrono_literals;
  Plan plan;
  plan.servers = servers;
  plan.workers = workers;
  plan.shards = shards;
  plan.consistency = consistency;
  TableSpec table;
  table.name = "t";
  table.ranges = 6;
  table.rule.kind = consistency.kind == Consistency::Kind::kSync ? RuleKind::kAdagrad : RuleKind::kAdd;
  table.rule.initial_accumulator = 0.1f;
  plan.tables = {table};
  plan.keys = 12;
  plan.steps.assign(shards, {steps});
  plan.unanswered_max = 4;
  plan.latency = 1ms;
  plan.worker_turn.assign(workers, Duration{});
  plan.timeout = 60s;
  plan.suspect_after = 3s;
  return plan;
}

}  // namespace thalweg::sim
