#include "exchange/plan/planner.h"

#include <algorithm>
#include <limits>
#include <set>

#include "exchange/levels/level_lanes.h"
#include "exchange/plan/cost.h"
#include "exchange/plan/estimate.h"
#include "exchange/plan/hierarchies.h"
#include "exchange/plan/lower_bound.h"
#include "exchange/plan/tune.h"
#include "exchange/route/route.h"

namespace thalweg {
namespace {

bool same_cuts(const Plan& a, const Plan& b) {
  return a.piece_elements == b.piece_elements && a.channels == b.channels;
}

// Routes by name, and hierarchies besides the one that the topology's places suggest.
std::vector<std::string> names_to_try(const Topology& topology, const Demand& demand,
                                      std::span<const Route* const> own) {
  std::vector<std::string> names = candidate_routes(topology, demand, own);
  const auto suggested = lay_out(topology, demand, routes::kHierarchical.name);
  const bool rooted = is_rooted(demand.operation);
  std::vector<std::string> more =
      fastest_hierarchies(topology, demand, rooted ? kRootedHierarchiesTried : kHierarchiesTried);
  if (suggested.ok() && rooted && suggested->plan.levels.size() > 1) {
    PlanLevels trees = suggested->plan.levels;  // In pieces these are one tree.
    for (PlanLevel& level : trees) level.way = LevelWay::kTree;
    more.push_back(std::string(routes::kHierarchical.name) + ":" + levels_text(trees));
  }
  for (std::string& name : more) {
    const auto layout = lay_out(topology, demand, name);
    const bool is_there = std::find(names.begin(), names.end(), name) != names.end();
    if (layout.ok() && !is_there && layout->plan.levels != suggested->plan.levels)
      names.push_back(std::move(name));
  }
  return names;
}

// What is worth a forecast: each route in pieces and, where that differs, whole.
Result<std::vector<Forecast>> candidates(const Topology& topology, const Demand& demand,
                                         std::span<const Route* const> own) {
  std::vector<Forecast> made;
  for (const std::string& route : names_to_try(topology, demand, own)) {
    for (const bool pipelined : {true, false}) {
      if (pipelined && !demand.pipelined) continue;
      Demand each = demand;
      each.pipelined = pipelined;
      auto layout = lay_out(topology, each, route, own);
      if (!layout.ok()) return layout.status();
      if (!made.empty() && made.back().layout.route == route &&
          same_cuts(made.back().layout.plan, layout->plan)) {
        continue;
      }
      const double seconds = predicted_seconds(topology, each, *layout);
      made.push_back({*std::move(layout), pipelined, seconds, false});
    }
  }
  return made;
}

bool faster(const Forecast& a, const Forecast& b) { return a.seconds < b.seconds; }

// All forecasts, or no more than it takes to know the first.
enum class Effort : std::uint8_t { kAll, kFirst };

class Ranking {
 public:
  Ranking(const Topology& topology, const Demand& demand, Effort effort, std::vector<Forecast> forecasts)
      : topology_(topology), demand_(demand), effort_(effort), forecasts_(std::move(forecasts)) {}

  Result<std::vector<Forecast>> run() {
    std::stable_sort(forecasts_.begin(), forecasts_.end(), faster);
    bound_ = lowest_bound();
    for (Forecast& forecast : forecasts_) {
      if (Status status = simulate(forecast); !status.ok()) return status;
    }
    std::stable_sort(forecasts_.begin(), forecasts_.end(), faster);
    if (demand_.pipelined) {
      if (Status status = add_tuned(); !status.ok()) return status;
    }
    return std::move(forecasts_);
  }

 private:
  Status simulate(Forecast& forecast) {
    const double messages = estimated_messages(topology_, demand_, forecast.layout);
    const double trust = messages > kForecastMessagesFew ? kFormulaTrustClose : kFormulaTrust;
    // Given up, it takes about as many as it has until then.
    const double run =
        effort_ == Effort::kFirst ? messages * std::min(1.0, kTunedWithin * best_ / forecast.seconds) : 0;
    if (forecast.seconds > trust * best_ || good_enough_ || messages > kForecastMessagesMax ||
        messages_ + run > kChoiceMessagesMax) {
      if (good_enough_) forecast.seconds = std::max(forecast.seconds, best_);
      return ok_status();
    }
    messages_ += run;
    const double give_up_after = effort_ == Effort::kFirst ? kTunedWithin * best_ : kNever;
    const auto seconds = estimated_seconds(topology_, demand_, forecast.layout, give_up_after);
    if (!seconds.ok()) return seconds.status();
    forecast.seconds = *seconds;
    forecast.simulated = *seconds < kNever;
    if (*seconds >= best_) return ok_status();
    best_ = *seconds;
    good_enough_ = effort_ == Effort::kFirst && best_ <= kGoodEnough * bound_;
    return ok_status();
  }

  // Whether it is of another route, and not of yet another hierarchy.
  static bool adds_variety(const std::vector<const Forecast*>& starts, const Forecast& forecast) {
    std::size_t hierarchies = 0;
    for (const Forecast* start : starts) {
      if (start->layout.route == forecast.layout.route) return false;
      if (start->layout.plan.route == &routes::kHierarchical) ++hierarchies;
    }
    const bool one_more = forecast.layout.plan.route == &routes::kHierarchical;
    return starts.size() < kRoutesTuned && (!one_more || hierarchies < kHierarchiesTuned);
  }

  // Puts the best tuning of the fastest before them where it gains anything to speak of.
  Status add_tuned() {
    Forecast best = forecasts_.front();
    if (best.seconds <= kGoodEnough * bound_) return ok_status();
    std::vector<const Forecast*> starts;
    for (const Forecast& forecast : forecasts_) {
      if (forecast.simulated && forecast.seconds <= kTunedWithin * best_ && adds_variety(starts, forecast))
        starts.push_back(&forecast);
    }
    for (const Forecast* start : starts) {
      auto tuned = tune(topology_, demand_, *start);
      if (!tuned.ok()) return tuned.status();
      if (tuned->seconds < best.seconds) best = *std::move(tuned);
    }
    if (best.seconds < kWorthTuning * forecasts_.front().seconds)
      forecasts_.insert(forecasts_.begin(), std::move(best));
    return ok_status();
  }

  // Of any of them: those with servers may be faster than what all others cannot beat.
  double lowest_bound() const {
    std::set<std::uint32_t> sizes;
    double bound = kNever;
    for (const Forecast& forecast : forecasts_) {
      if (!sizes.insert(forecast.layout.size()).second) continue;
      bound = std::min(bound, lower_bound_seconds(topology_, demand_, forecast.layout));
    }
    return bound;
  }

  static constexpr double kNever = std::numeric_limits<double>::infinity();
  const Topology& topology_;
  const Demand& demand_;
  const Effort effort_;
  std::vector<Forecast> forecasts_;
  double best_ = kNever, bound_ = 0;
  double messages_ = 0;
  bool good_enough_ = false;
};

Result<std::vector<Forecast>> rank(const Topology& topology, const Demand& asked,
                                   std::span<const Route* const> own, Effort effort) {
  Demand demand = asked;
  if (demand.operation == Operation::kBarrier) demand.bytes = Demand::kElementBytes;
  auto forecasts = candidates(topology, demand, own);
  if (!forecasts.ok()) return forecasts.status();
  if (forecasts->empty()) {
    return Status(Code::kUsage, std::string("no route does ") + operation_name(demand.operation) +
                                    " on topology " + topology.name() + " with " +
                                    std::to_string(demand.ranks) + " ranks");
  }
  return Ranking(topology, demand, effort, *std::move(forecasts)).run();
}

}  // namespace

Result<std::vector<Forecast>> forecast_routes(const Topology& topology, const Demand& demand,
                                              std::span<const Route* const> own) {
  return rank(topology, demand, own, Effort::kAll);
}

Result<Layout> choose_route(const Topology& topology, const Demand& demand,
                            std::span<const Route* const> own) {
  auto forecasts = rank(topology, demand, own, Effort::kFirst);
  if (!forecasts.ok()) return forecasts.status();
  return std::move(forecasts->front().layout);
}

}  // namespace thalweg
