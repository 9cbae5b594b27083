// Measures what this machine's transports and cores take.
#pragma once

#include <string_view>

#include "base/machine_costs.h"
#include "thalweg/status.h"

namespace thalweg {

// Between two ranks, over "shm" or "tcp".
Result<TransportCosts> measure_transport(std::string_view transport);
// What this thread's core takes to add and to read, into `costs`.
void measure_core(MachineCosts& costs);

}  // namespace thalweg
