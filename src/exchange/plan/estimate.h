// What a layout takes by simulation, of long vectors by simulating shorter ones.
#pragma once

#include <limits>
#include <memory_resource>

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
// And what an event takes, of which a message that waits at links is several: as is known afterwards.
inline constexpr double kMessagesPerEvent = 0.3;
double simulation_work(const Topology& topology, const Demand& demand, const Layout& layout);
struct EstimateOptions {
  Handling handling{};
  double give_up_after = std::numeric_limits<double>::infinity();
  std::pmr::memory_resource* memory = nullptr;  // As in SimulateOptions.
  double* worked = nullptr;                     // Grows by what it took, in messages; less where it gave up.
};
// Infinity where it is known to take longer than `give_up_after`.
Result<double> estimated_seconds(const Topology& topology, const Demand& demand, const Layout& layout,
                                 const EstimateOptions& options = {});

}  // namespace thalweg
