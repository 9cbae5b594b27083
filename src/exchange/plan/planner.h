// Which route to take: the one that takes the least time, by simulation where that is cheap and by formula
// elsewhere.
#pragma once

#include <span>
#include <vector>

#include "exchange/plan/layout.h"

namespace thalweg {

struct Forecast {
  Layout layout;
  bool pipelined = true;
  double seconds = 0;
  bool simulated = false;  // Else by cost.h.
};

// Messages in all that one forecast simulates.
inline constexpr double kForecastMessagesMax = 3e4;
// A route whose formula says more than so many times the best simulated time is not simulated; the second,
// where that takes more than a few messages.
inline constexpr double kFormulaTrust = 4, kFormulaTrustClose = 2;
inline constexpr double kForecastMessagesFew = 5e3;
// Messages in all that forecasts simulate when only the choice is wanted; what comes after keeps its formula.
inline constexpr double kChoiceMessagesMax = 3e4;
// Splits of the ranks into levels that are tried beside the topology's own, the fastest by formula.
inline constexpr std::size_t kHierarchiesTried = 3, kRootedHierarchiesTried = 5;
// The fastest, whose channels and pieces are tuned where they take at most so many times the best time, and
// the share of the best time below which that counts.
inline constexpr std::size_t kRoutesTuned = 5, kHierarchiesTuned = 3;
inline constexpr double kTunedWithin = 1.8;
inline constexpr double kWorthTuning = 0.98;
// A choice that takes at most so many times what no route can beat is not improved.
inline constexpr double kGoodEnough = 1.01;

// Every route that fits, `own` ones included, and hierarchies of other levels, in pieces and whole, and the
// best tuning of the first ones, unless `demand.pipelined` is false, the fastest first.
Result<std::vector<Forecast>> forecast_routes(const Topology& topology, const Demand& demand,
                                              std::span<const Route* const> own = {});
// The first of them, or one that is good enough, without the times of the others.
Result<Layout> choose_route(const Topology& topology, const Demand& demand,
                            std::span<const Route* const> own = {});

}  // namespace thalweg
