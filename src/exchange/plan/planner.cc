#include "exchange/plan/planner.h"

#include <algorithm>
#include <limits>
#include <memory_resource>
#include <numeric>
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

// What choose_route() and forecast_routes() are asked, all but how much effort they make.
struct Question {
  const Topology& topology;
  Demand demand;
  std::span<const Route* const> own;
  const PlannerOptions& options;
};

// Beside those that lists of routes show.
constexpr const char* kMoreTrees[] = {"tree:3", "tree:4", "tree:16"};

bool same_cuts(const Plan& a, const Plan& b) {
  return a.piece_elements == b.piece_elements && a.channels == b.channels;
}

// A level for each prime factor, rings between the innermost and the outermost. All-reduce with doubling
// outermost is as good as longer halvings by formula, and better in channels.
PlanLevels prime_levels(std::uint32_t ranks, LevelWay innermost, LevelWay outermost) {
  PlanLevels levels;
  for (std::uint32_t factor = 2; ranks > 1; ++factor) {
    for (; ranks % factor == 0; ranks /= factor) levels.emplace_back(factor);
  }
  if (levels.empty()) return levels;
  levels.front().way = innermost;
  levels.back().way = outermost;
  return levels;
}

// The same with a ring or a tree at each level, all of them, and with doubling at last where that is an
// all-reduce: few ranks take next to nothing to simulate.
std::vector<PlanLevels> prime_ways(std::uint32_t ranks, Operation operation) {
  std::vector<PlanLevels> made{prime_levels(ranks, LevelWay::kRing, LevelWay::kRing)};
  const std::size_t depth = made.front().size();
  if (!is_rooted(operation) && operation != Operation::kAllReduce) return {};
  for (std::size_t level = 0; level < depth; ++level) {
    std::vector<LevelWay> ways{LevelWay::kRing, LevelWay::kTree};
    if (level + 1 == depth && !is_rooted(operation)) ways.push_back(LevelWay::kDoubling);
    std::vector<PlanLevels> more;
    for (const PlanLevels& levels : made) {
      for (const LevelWay way : ways) {
        more.push_back(levels);
        more.back()[level].way = way;
      }
    }
    made = std::move(more);
  }
  return made;
}

// Routes by name, and hierarchies besides the one that the topology's places suggest.
std::vector<std::string> names_to_try(const Question& asked) {
  const auto& [topology, demand, own, options] = asked;
  std::vector<std::string> names = candidate_routes(topology, demand, own);
  for (const char* name : kMoreTrees) {
    if (lay_out(topology, demand, name).ok()) names.emplace_back(name);
  }
  if (!options.tries_levels) return names;
  const auto suggested = lay_out(topology, demand, routes::kHierarchical.name);
  const bool rooted = is_rooted(demand.operation);
  const bool few = demand.ranks <= kAllWaysRanksMax;
  std::vector<std::string> more = fastest_hierarchies(
      topology, demand, demand.ranks <= kManyRanks ? kHierarchiesTried : kHierarchiesOfManyTried,
      options.handling);
  if (few && demand.bytes / kSlicesForLevels >= Demand::kElementBytes) {
    Demand slice = demand;
    slice.bytes /= kSlicesForLevels;
    for (std::string& name : fastest_hierarchies(topology, slice, kHierarchiesTried, options.handling))
      more.push_back(std::move(name));
  }
  if (suggested.ok() && rooted && suggested->plan.levels.size() > 1) {
    PlanLevels trees = suggested->plan.levels;  // In pieces these are one tree.
    for (PlanLevel& level : trees) level.way = LevelWay::kTree;
    more.push_back(std::string(routes::kHierarchical.name) + ":" + levels_text(trees));
  }
  if (demand.ranks <= kFewRanks) {
    for (const PlanLevels& levels : prime_ways(demand.ranks, demand.operation))
      more.push_back(std::string(routes::kHierarchical.name) + ":" + levels_text(levels));
  } else if (few && (rooted || demand.operation == Operation::kAllReduce)) {
    const LevelWay outermost = rooted ? LevelWay::kRing : LevelWay::kDoubling;
    for (const LevelWay innermost : {LevelWay::kRing, LevelWay::kTree})
      more.push_back(std::string(routes::kHierarchical.name) + ":" +
                     levels_text(prime_levels(demand.ranks, innermost, outermost)));
  }
  for (std::string& name : more) {
    const auto layout = lay_out(topology, demand, name);
    const bool is_there = std::find(names.begin(), names.end(), name) != names.end();
    if (layout.ok() && !is_there && layout->plan.levels != suggested->plan.levels)
      names.push_back(std::move(name));
  }
  return names;
}

// How a route is cut to begin with.
enum class Cutting : std::uint8_t { kByRule, kFine, kOneChannel, kWhole };

// Where a vector goes down a tree in few pieces of the rule's least size, which is then far from the best.
bool is_worth_cutting_finely(const Question& asked, const Plan& by_rule) {
  const std::uint64_t pieces = asked.demand.bytes / kPieceBytesLeast;
  return is_rooted(asked.demand.operation) && asked.options.piece_bytes == 0 && pieces > 1 &&
         by_rule.piece_elements > kPieceBytesLeast / Demand::kElementBytes &&
         static_cast<double>(pieces * asked.demand.ranks) <= kForecastMessagesFew;
}

// In pieces of the size that is asked for, where one is.
Result<Layout> cut_layout(const Question& asked, const std::string& route, Cutting cutting) {
  Demand demand = asked.demand;
  demand.pipelined = cutting != Cutting::kWhole;
  auto layout = lay_out(asked.topology, demand, route, asked.own);
  if (layout.ok() && cutting == Cutting::kFine && is_worth_cutting_finely(asked, layout->plan))
    layout->plan.piece_elements = kPieceBytesLeast / Demand::kElementBytes;
  const std::uint64_t piece = asked.options.piece_bytes;
  if (!layout.ok() || piece == 0 || cutting == Cutting::kWhole) return layout;
  layout->plan.piece_elements = piece < demand.bytes ? piece / Demand::kElementBytes : 0;
  if (cutting == Cutting::kOneChannel) layout->plan.channels = 1;
  return layout;
}

// What is worth a forecast: each route in pieces and, where that differs, whole.
Result<std::vector<Forecast>> candidates(const Question& asked) {
  const auto& options = asked.options;
  std::vector<Forecast> made;
  for (const std::string& route : names_to_try(asked)) {
    for (const Cutting cutting : {Cutting::kByRule, Cutting::kFine, Cutting::kOneChannel, Cutting::kWhole}) {
      if (cutting == Cutting::kOneChannel && options.piece_bytes == 0) continue;
      if (cutting != Cutting::kWhole && !asked.demand.pipelined) continue;
      auto layout = cut_layout(asked, route, cutting);
      if (!layout.ok()) return layout.status();
      if (!made.empty() && made.back().layout.route == route &&
          same_cuts(made.back().layout.plan, layout->plan)) {
        continue;
      }
      if (options.takes && !options.takes(layout->plan)) continue;
      Demand each = asked.demand;
      each.pipelined = cutting != Cutting::kWhole;
      const double seconds = predicted_seconds(asked.topology, each, *layout, options.handling);
      made.push_back({*std::move(layout), each.pipelined, seconds, false});
    }
  }
  return made;
}

bool faster(const Forecast& a, const Forecast& b) {
  return a.seconds < b.seconds || (a.seconds == b.seconds && a.simulated && !b.simulated);
}

// All forecasts, or no more than it takes to know the first.
enum class Effort : std::uint8_t { kAll, kFirst };

class Ranking {
 public:
  Ranking(const Question& asked, Effort effort, std::vector<Forecast> forecasts)
      : asked_(asked),
        topology_(asked.topology),
        demand_(asked.demand),
        effort_(effort),
        forecasts_(std::move(forecasts)) {}

  Result<std::vector<Forecast>> run() {
    std::stable_sort(forecasts_.begin(), forecasts_.end(), faster);
    if (!asked_.options.simulates) return std::move(forecasts_);
    bound_ = lowest_bound();
    std::vector<Forecast*> later;
    for (Forecast& forecast : forecasts_) {
      if (is_for_later(forecast)) {
        later.push_back(&forecast);
      } else if (Status status = simulate(forecast); !status.ok()) {
        return status;
      }
    }
    for (Forecast* forecast : later) {
      if (Status status = simulate(*forecast); !status.ok()) return status;
    }
    if (has_some_simulated()) put_back_hierarchies();
    std::stable_sort(forecasts_.begin(), forecasts_.end(), faster);
    if (demand_.pipelined && asked_.options.piece_bytes == 0) {
      if (Status status = add_tuned(); !status.ok()) return status;
    }
    return std::move(forecasts_);
  }

 private:
  // Where formulas alone are too little to go by, and simulations too much work to make all of them.
  bool has_some_simulated() const {
    return effort_ == Effort::kFirst && demand_.ranks > kFewRanks && demand_.ranks <= kAllWaysRanksMax;
  }

  bool is_long() const { return has_some_simulated() && demand_.bytes > kLongBytes; }

  // Hierarchies are many, and alike: the first few leave flat routes, whose formulas may be further off, half
  // of the work.
  bool is_for_later(const Forecast& forecast) const {
    return has_some_simulated() && has_several_levels(forecast) && messages_ > kChoiceMessagesMax / 2;
  }

  Status simulate(Forecast& forecast) {
    const double messages = simulation_work(topology_, demand_, forecast.layout);
    const double trust = messages > kForecastMessagesFew ? kFormulaTrustClose : kFormulaTrust;
    // Given up, it takes about as many as it has until then.
    const double run =
        effort_ == Effort::kFirst ? messages * std::min(1.0, kTunedWithin * best_ / forecast.seconds) : 0;
    if (forecast.seconds > trust * best_ || good_enough_ || messages > kForecastMessagesMax ||
        messages_ + run > kChoiceMessagesMax) {
      if (good_enough_) forecast.seconds = std::max(forecast.seconds, best_);
      return ok_status();
    }
    double worked = 0;
    const double give_up_after = effort_ == Effort::kFirst ? kTunedWithin * best_ : kNever;
    const auto seconds = estimated_seconds(topology_, demand_, forecast.layout,
                                           {asked_.options.handling, give_up_after, &memory_, &worked});
    if (!seconds.ok()) return seconds.status();
    messages_ += is_long() ? worked : run;
    if (is_long()) forecast.work = worked;
    forecast.seconds = *seconds;
    forecast.simulated = *seconds < kNever;
    if (*seconds >= best_) return ok_status();
    best_ = *seconds;
    good_enough_ = effort_ == Effort::kFirst && best_ <= kGoodEnough * bound_;
    return ok_status();
  }

  // Of hierarchies, formulas are the lower the more levels they have: none of those that there was no work
  // left for is to be faster than what was simulated.
  void put_back_hierarchies() {
    if (best_ == kNever) return;
    for (Forecast& forecast : forecasts_) {
      if (!forecast.simulated && has_several_levels(forecast))
        forecast.seconds = std::max(forecast.seconds, best_);
    }
  }

  static bool has_several_levels(const Forecast& forecast) { return forecast.layout.plan.levels.size() > 1; }
  // In channels these use cables that they do not alone; there are few.
  static bool has_one_level(const Forecast& forecast) { return forecast.layout.plan.levels.size() == 1; }

  // Whether it is of another route, and not of yet another hierarchy.
  static bool adds_variety(const std::vector<const Forecast*>& starts, const Forecast& forecast,
                           std::uint32_t ranks) {
    std::size_t hierarchies = 0;
    for (const Forecast* start : starts) {
      if (start->layout.route == forecast.layout.route) return false;
      if (has_several_levels(*start)) ++hierarchies;
    }
    const bool one_more = has_several_levels(forecast);
    const std::size_t more = ranks <= kFewRanks ? kMoreTunedOfFew : 0;
    return (has_one_level(forecast) || starts.size() < kRoutesTuned + more) &&
           (!one_more || hierarchies < kHierarchiesTuned + more);
  }

  // As many of the first as half of so much work is enough for.
  static std::size_t that_can_begin(const std::vector<Tuner>& tuners, double all) {
    double work = 0;
    std::size_t count = 0;
    for (const Tuner& tuner : tuners) {
      work += kTrialsAtLeast * tuner.next_work();
      if (count > 0 && work > all / 2) break;
      ++count;
    }
    return count;
  }

  // All of them, then the faster half, and so on; each round a part of what is left, the last one all of it.
  // Takes off `left` what that has worked.
  static Status tune_in_rounds(std::vector<Tuner>& tuners, double& left) {
    for (std::size_t in = that_can_begin(tuners, left); in > 0; in = in == 1 ? 0 : (in + 1) / 2) {
      double round = in == 1 ? left : kRoundPart * left;
      left -= round;
      for (std::size_t i = in; i > 0; --i) {  // What slower ones leave is for faster ones.
        const double share = round / static_cast<double>(i);
        double work = share;
        if (Status status = tuners[i - 1].go_on(work); !status.ok()) return status;
        round -= share - work;
      }
      left += round;
      std::vector<std::size_t> order(in);
      std::iota(order.begin(), order.end(), std::size_t{0});
      std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return tuners[a].promise() < tuners[b].promise();
      });
      std::vector<Tuner> sorted;
      for (const std::size_t i : order) sorted.push_back(std::move(tuners[i]));
      for (std::size_t i = in; i < tuners.size(); ++i) sorted.push_back(std::move(tuners[i]));
      tuners = std::move(sorted);
    }
    return ok_status();
  }

  // Puts the best tuning of the fastest before them where it gains anything to speak of.
  Status add_tuned() {
    Forecast best = forecasts_.front();
    if (best.seconds <= kGoodEnough * bound_) return ok_status();
    std::vector<const Forecast*> starts;
    for (const Forecast& forecast : forecasts_) {
      if (forecast.simulated && forecast.seconds <= kTunedWithin * best_ &&
          adds_variety(starts, forecast, demand_.ranks))
        starts.push_back(&forecast);
    }
    // Among few ranks levels are many, and their trials short: without work of their own, flat routes would
    // never come to the small pieces that they need.
    std::vector<Tuner> flat, levels;
    for (const Forecast* start : starts) {
      const bool apart = demand_.ranks <= kAllWaysRanksMax && !has_several_levels(*start);
      (apart ? flat : levels).emplace_back(topology_, demand_, *start, asked_.options, &memory_);
    }
    const double many = demand_.ranks > kManyRanks ? demand_.ranks - kManyRanks : 0;
    const double some = !has_some_simulated() ? 1 : is_long() ? kTuneLessOfLong : kTuneMoreOfSome;
    double left = some * std::max(kTuneMessagesLeast, kTuneMessagesMax - kTuneMessagesLessPerRank * many);
    double for_flat = flat.empty() ? 0 : left / 2;
    left -= for_flat;
    if (Status status = tune_in_rounds(flat, for_flat); !status.ok()) return status;
    left += for_flat;
    if (Status status = tune_in_rounds(levels, left); !status.ok()) return status;
    for (const auto* tuners : {&flat, &levels}) {
      for (const Tuner& tuner : *tuners) {
        if (tuner.best().seconds < best.seconds) best = tuner.best();
      }
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
      if (forecast.seconds > kFormulaTrust * forecasts_.front().seconds) break;  // Nor is it simulated.
      if (!sizes.insert(forecast.layout.size()).second) continue;
      bound = std::min(bound, lower_bound_seconds(topology_, demand_, forecast.layout));
    }
    return bound;
  }

  static constexpr double kNever = std::numeric_limits<double>::infinity();
  const Question& asked_;
  const Topology& topology_;
  const Demand& demand_;
  const Effort effort_;
  std::vector<Forecast> forecasts_;
  std::pmr::unsynchronized_pool_resource memory_;  // Of one simulation after the other.
  double best_ = kNever, bound_ = 0;
  double messages_ = 0;
  bool good_enough_ = false;
};

Result<std::vector<Forecast>> rank(Question asked, Effort effort) {
  const Demand& demand = asked.demand;
  if (demand.operation == Operation::kBarrier) asked.demand.bytes = Demand::kElementBytes;
  auto forecasts = candidates(asked);
  if (!forecasts.ok()) return forecasts.status();
  if (forecasts->empty()) {
    return Status(Code::kUsage, std::string("no route does ") + operation_name(demand.operation) +
                                    " on topology " + asked.topology.name() + " with " +
                                    std::to_string(demand.ranks) + " ranks");
  }
  return Ranking(asked, effort, *std::move(forecasts)).run();
}

}  // namespace

Result<std::vector<Forecast>> forecast_routes(const Topology& topology, const Demand& demand,
                                              std::span<const Route* const> own) {
  const PlannerOptions options;
  return rank({topology, demand, own, options}, Effort::kAll);
}

Result<Layout> choose_route(const Topology& topology, const Demand& demand, std::span<const Route* const> own,
                            const PlannerOptions& options) {
  auto forecasts = rank({topology, demand, own, options}, Effort::kFirst);
  if (!forecasts.ok()) return forecasts.status();
  return std::move(forecasts->front().layout);
}

}  // namespace thalweg
