// The parts of the plan of a job that dies as a whole, again and again.
#pragma once

#include "sim/change/restarts_plan.h"
#include "sim/shrink/parts.h"

namespace thalweg::sim {

const Parts<RestartsPlan>& parts_of(const RestartsPlan& plan);

}  // namespace thalweg::sim
