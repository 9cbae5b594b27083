// What ranks do by a plan, step by step, to tell apart plans that differ by more than their names.
#pragma once

#include <cstdint>
#include <vector>

#include "exchange/lane.h"
#include "exchange/plan/plan.h"

namespace thalweg {

using LaneSteps = std::vector<LaneStep>;

// Of each rank its lanes, for a vector of so many elements that is not in place, with rank 0 as root; two
// plans with the same steps are the same exchange. Precondition: check_plan() is OK, and no route in_memory.
std::vector<std::vector<LaneSteps>> steps_of(const Plan& plan, Operation operation, std::uint64_t elements,
                                             std::uint32_t ranks);

}  // namespace thalweg
