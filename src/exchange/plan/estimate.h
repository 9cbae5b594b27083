// What a layout takes by simulation, of long vectors by simulating shorter ones.
#pragma once

#include <limits>

#include "exchange/plan/cost.h"
#include "exchange/plan/layout.h"

namespace thalweg {

// Blocks of many pieces are simulated with each of these numbers of pieces, beside those that are on their
// way at once, instead: the time of a pipeline that is full grows by as much for each further piece.
inline constexpr double kPiecesShort = 12, kPiecesLong = 24;

// Messages in all that estimated_seconds() simulates.
double estimated_messages(const Topology& topology, const Demand& demand, const Layout& layout);
// The same with what it takes to make so many ranks, in messages.
inline constexpr double kMessagesPerRank = 15;
double simulation_work(const Topology& topology, const Demand& demand, const Layout& layout);
struct EstimateOptions {
  Handling handling{};
  double give_up_after = std::numeric_limits<double>::infinity();
};
// Infinity where it is known to take longer than `give_up_after`.
Result<double> estimated_seconds(const Topology& topology, const Demand& demand, const Layout& layout,
                                 const EstimateOptions& options = {});

}  // namespace thalweg
