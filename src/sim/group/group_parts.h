// The parts of a random group's plan.
#pragma once

#include "sim/group/group_plan.h"
#include "sim/shrink/parts.h"

namespace thalweg::sim {

const Parts<GroupPlan>& parts_of(const GroupPlan& plan);

}  // namespace thalweg::sim
