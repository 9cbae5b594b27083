// Which route to take: the one that takes the least time, by simulation where that is cheap and by formula
// elsewhere.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "exchange/plan/cost.h"
#include "exchange/plan/layout.h"

namespace thalweg {

struct Forecast {
  Layout layout;
  bool pipelined = true;
  double seconds = 0;
  bool simulated = false;  // Else by cost.h.
  double work = 0;         // Of long vectors: what its simulation took, as simulation_work() has it.
};

// Messages in all that one forecast simulates, which as all of these counts what it takes to make the ranks:
// simulation_work().
inline constexpr double kForecastMessagesMax = 3e4;
// A route whose formula says more than so many times the best simulated time is not simulated; the second,
// where that takes more than a few messages.
inline constexpr double kFormulaTrust = 4, kFormulaTrustClose = 2;
inline constexpr double kForecastMessagesFew = 5e3;
// Messages in all that forecasts simulate when only the choice is wanted; what comes after keeps its formula,
// or is put behind what was simulated where all hierarchies are too many.
inline constexpr double kChoiceMessagesMax = 3.6e4;
// Splits of the ranks into levels that are tried beside the topology's own, the fastest by formula; of more
// than so many ranks, each of which takes longer to price and to simulate.
inline constexpr std::size_t kHierarchiesTried = 6, kHierarchiesOfManyTried = 3;
inline constexpr std::uint32_t kManyRanks = 256;
// Among few ranks as many that are the fastest for such a part of the vector, which levels work on when they
// follow each other in channels.
inline constexpr std::uint64_t kSlicesForLevels = 8;
// The fastest, whose channels and pieces are tuned where they take at most so many times the best time, and
// the share of the best time below which that counts.
inline constexpr std::size_t kRoutesTuned = 12, kHierarchiesTuned = 9;
// Among so few ranks so many more, all ways of levels of prime factors being among them.
inline constexpr std::uint32_t kFewRanks = 16;
inline constexpr std::size_t kMoreTunedOfFew = 12;
inline constexpr double kTunedWithin = 2;
inline constexpr double kWorthTuning = 0.98;
// Messages that all tuning simulates, each route its share of what is left: less by so many for each rank
// above kManyRanks, since formulas take longer then, but so many at least.
inline constexpr double kTuneMessagesMax = 4.65e4, kTuneMessagesLessPerRank = 45, kTuneMessagesLeast = 1.6e4;
// So many times that where only some simulations are made: less of long vectors, whose messages wait in
// windows, so that what they take is counted by its events.
inline constexpr double kTuneMoreOfSome = 1.4, kTuneLessOfLong = 0.8;
inline constexpr std::uint64_t kLongBytes = std::uint64_t{16} << 20;
// Of what is left, in each round of them.
inline constexpr double kRoundPart = 0.7;
// Trials that half of them is enough for, of each route that is tuned, as each takes more channels than the
// one before.
inline constexpr double kTrialsAtLeast = 3;
// A choice that takes at most so many times what no route can beat is not improved.
inline constexpr double kGoodEnough = 1.01;

// What a choice goes by besides a topology and a demand.
struct PlannerOptions {
  Handling handling{};            // What ranks' cores do.
  std::uint64_t piece_bytes = 0;  // Pieces are of so many, and nothing is tuned; 0: of any size.
  bool simulates = true;          // Else all times are by formula.
  bool tries_levels = true;       // Beside those of the topology's places.
  // Whether a plan is worth a try; null: every one.
  std::function<bool(const Plan& plan)> takes{};
};

// Every route that fits, `own` ones included, and hierarchies of other levels, in pieces and whole, and the
// best tuning of the first ones, unless `demand.pipelined` is false, the fastest first.
Result<std::vector<Forecast>> forecast_routes(const Topology& topology, const Demand& demand,
                                              std::span<const Route* const> own = {});
// The first of them, or one that is good enough, without the times of the others.
Result<Layout> choose_route(const Topology& topology, const Demand& demand,
                            std::span<const Route* const> own = {}, const PlannerOptions& options = {});

}  // namespace thalweg
