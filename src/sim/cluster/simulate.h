// A cluster of a plan, run to its end and checked.
#pragma once

#include <string>

#include "sim/cluster/cluster.h"
#include "sim/cluster/plan.h"
#include "sim/cluster/run_plan.h"
#include "sim/report.h"

namespace thalweg::sim {

// Empty, or which range a server holds otherwise than its owner.
std::string compare_copies(const Cluster& cluster);

// Runs a cluster until its job is over, at most until `limit`; empty, or what is wrong then.
std::string run_to_end(Cluster& cluster, Instant limit);
// The integer tables of a finished job against the oracle; empty, or the first difference.
std::string compare_with_oracle(const Cluster& cluster);
// Bits of all tables of a sync job against a run where nothing goes wrong; empty, or the first difference.
std::string compare_with_fault_free(const Cluster& cluster);

}  // namespace thalweg::sim
