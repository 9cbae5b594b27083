// Sizes of pieces and numbers of channels by trial.
#pragma once

#include "exchange/plan/planner.h"

namespace thalweg {

// Messages that the trials of one plan simulate.
inline constexpr double kTuneMessagesMax = 6e3;

// The same route in the number of channels and then the size of pieces that take the least time by
// simulation, in turn for as long as that helps. As given where each trial has more messages than allowed.
Result<Forecast> tune(const Topology& topology, const Demand& demand, Forecast start);

}  // namespace thalweg
