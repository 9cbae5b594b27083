// One seed: a random cluster does random work while random things go wrong; then everything is checked.
#pragma once

#include <cstdint>
#include <string>

#include "sim/cluster.h"
#include "sim/moves.h"
#include "sim/plan.h"

namespace thalweg::sim {

struct Report {
  std::uint64_t seed = 0;
  std::string violation;  // Empty: none.
  std::string plan;       // For people.
  std::uint64_t trace_hash = 0;
  std::uint64_t events = 0;
  Duration virtual_time{};
  Duration time_allowed{};       // Of virtual time.
  bool ended_well = false;       // Else the job ended as its faults call for, unless there is a violation,
  std::string error;             // with this.
  std::uint32_t lead_max = 0;    // Of answered pulls over the slowest shard.
  std::uint64_t behind_max = 0;  // Steps of a shard past one that was unanswered.
  Consistency consistency;
  NetworkCounts network;
  MoveCounts moves;
  bool ok() const { return violation.empty(); }
};

// Same seed, same report.
Report run_seed(std::uint64_t seed, Trace trace = nullptr);
Report run_plan(const Plan& plan, Trace trace = nullptr);
// Twice, untraced the second time; that both take the same course is one more promise.
Report run_seed_twice(std::uint64_t seed, Trace trace = nullptr);

// Runs a cluster until its job is over, at most until `limit`; empty, or what is wrong then.
std::string run_to_end(Cluster& cluster, Instant limit);
// The integer tables of a finished job against the oracle; empty, or the first difference.
std::string compare_with_oracle(const Cluster& cluster);
// Bits of all tables of a sync job against a run where nothing goes wrong; empty, or the first difference.
std::string compare_with_fault_free(const Cluster& cluster);

}  // namespace thalweg::sim
