// One seed: servers of versioned values and their clients while random things go wrong; then all is checked.
#pragma once

#include <cstdint>

#include "sim/report.h"
#include "sim/shrink/seeds.h"

namespace thalweg::sim {

struct QuorumPlan;

struct QuorumReport : RunReport {
  std::uint64_t puts = 0;  // That were acknowledged.
  std::uint64_t gets = 0;  // That were answered.
  std::uint64_t failed = 0;
  std::uint64_t stale = 0;  // Gets, where quorums need not overlap.
  bool fresh = false;       // They do, and there are none.
  std::uint64_t hints_kept = 0, hints_delivered = 0, repairs = 0, synced = 0, restored = 0, redirected = 0;
  std::uint64_t crashes = 0, disks = 0, partitions = 0, pauses = 0;
};

// Same seed, same report.
QuorumReport run_quorum_seed(std::uint64_t seed, Trace trace = nullptr);
QuorumReport run_quorum_plan(const QuorumPlan& plan, Trace trace = nullptr);
Seeds<QuorumReport> quorum_seeds();

}  // namespace thalweg::sim
