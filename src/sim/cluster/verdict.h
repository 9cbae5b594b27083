// How a run may end: well, or with the error that its faults call for, at every node.
#pragma once

#include <optional>
#include <string>

#include "sim/cluster/cluster.h"

namespace thalweg::sim {

// How a node's job ended, as the node knows it; none while it works, and for killed workers.
const std::optional<Status>* ending(const Process& process);
// Whether the job reports success.
bool ended_well(const Cluster& cluster);
// Empty, or what is wrong with how a job that is over ended, at the scheduler and at each node.
std::string judge_ends(const Cluster& cluster);

}  // namespace thalweg::sim
