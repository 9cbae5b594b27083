// The parts of the plan of a ring of servers of versioned values.
#pragma once

#include "sim/quorum/quorum_plan.h"
#include "sim/shrink/parts.h"

namespace thalweg::sim {

const Parts<QuorumPlan>& parts_of(const QuorumPlan& plan);

}  // namespace thalweg::sim
