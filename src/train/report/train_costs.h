// What a job's nodes have counted, as numbers of a training.
#pragma once

#include <cstdint>
#include <vector>

#include "base/counters.h"
#include "thalweg/trainer.h"

namespace thalweg {

// Of `steps`, which no node counts.
TrainCosts costs_of(const Counters& counters, std::uint64_t steps);
std::vector<LedPulls> led_pulls(const Counters& counters);
// The least lead that 99 % of the pulls do not exceed, or of pulls that are counted by powers of two the most
// that theirs may have been.
std::uint32_t staleness_p99(const Counters& counters);

}  // namespace thalweg
