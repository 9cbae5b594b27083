// The parts of a random cluster's plan.
#pragma once

#include "sim/cluster/plan.h"
#include "sim/shrink/parts.h"

namespace thalweg::sim {

const Parts<Plan>& parts_of(const Plan& plan);
// With a bound that so many shards can have.
Consistency for_shards(Consistency consistency, std::uint32_t shards);

}  // namespace thalweg::sim
