#include "client/group/group_routes.h"

#include <algorithm>
#include <bit>
#include <set>
#include <utility>

#include "base/check.h"
#include "exchange/levels/level_lanes.h"
#include "exchange/plan/planner.h"
#include "exchange/preface.h"
#include "exchange/route/route.h"

namespace thalweg {
namespace {

// From here on it pays to say where buffers are and to work on them in place, even though ranks whose buffers
// are not in group memory say so in vain.
constexpr std::size_t kSharedBytes = std::size_t{64} << 10;
// Between more ranks than these, all-to-all traffic is too much to look at, and for most switches.
constexpr std::size_t kSpreadRanksMax = 32;

// Whichever way the levels go.
bool has_groups_of(const PlanLevels& levels, const PlanLevels& machines) {
  return std::equal(
      levels.begin(), levels.end(), machines.begin(), machines.end(),
      [](const PlanLevel& a, const PlanLevel& b) { return a.size == b.size && a.sizes == b.sizes; });
}

// Whose routes formulas tell apart.
bool is_planned(Operation operation) {
  return std::ranges::find(kChosenOperations, operation) != kChosenOperations.end();
}

Plan plan_by(const Route& route, std::uint32_t channels = 1) {
  Plan plan;
  plan.route = &route;
  plan.channels = channels;
  return plan;
}

}  // namespace

RoutePlans::RoutePlans(const Plan& plan, std::size_t piece_bytes) {
  by_log2_size.fill(plan);
  for (std::size_t i = 0; piece_bytes > 0 && i < kSizes; ++i) {
    by_log2_size[i].piece_elements = std::max<std::size_t>(piece_bytes >> i, 1);
  }
  for (Plan& each : by_log2_size) each.hash = hash_of(each);
}

RouteChoice RoutePlans::choice(const Plan& plan, std::size_t piece_bytes) {
  RouteChoice choice;
  choice.plans_ = std::make_shared<const RoutePlans>(plan, piece_bytes);
  return choice;
}

const Plan& RoutePlans::of(std::size_t element_bytes) const {
  const auto log2_size =
      static_cast<std::size_t>(std::bit_width(std::max<std::size_t>(element_bytes, 1) - 1));
  return by_log2_size[std::min(log2_size, kSizes - 1)];
}

Result<RouteChoice> choose_by_name(std::string_view name, RouteChoice::Tuning tuning,
                                   std::span<const Route* const> own) {
  Result<Plan> plan = parse_route(name, own);
  if (!plan.ok()) return plan.status();
  if (plan->route->shape == RouteShape::kByTrees) {
    return refuse_route(
        name,
        "its trees are packed into a topology's cables, which a group does not know; simulate "
        "exchange lays them out, a group goes by double-tree");
  }
  plan->channels = tuning.channels;
  return RoutePlans::choice(*plan, tuning.piece_bytes);
}

std::uint32_t RouteChoice::servers() const { return plans_ ? plans_->by_log2_size.front().servers : 0; }

Result<RouteChoice> RouteChoice::named(std::string_view name, Tuning tuning) {
  return choose_by_name(name, tuning, {});
}

GroupRoutes::GroupRoutes(std::vector<RankPlace> places, RoutePlanner planner, const MeasuredRoutes& measured)
    : places_(std::move(places)),
      levels_(machine_levels(places_)),
      cost_model_(group_cost_model(places_)),
      planner_(std::move(planner)),
      shared_(plan_by(routes::kShared), kSharedMemoryPieceBytes),
      doubling_(plan_by(routes::kRecursiveDoubling), cost_model_.piece_bytes),
      tree_(plan_by(routes::kBinomialTree), cost_model_.piece_bytes),
      spread_(plan_by(routes::kSpread), cost_model_.piece_bytes),
      barrier_(plan_by(routes::kRecursiveDoubling), 0),
      whole_tree_(plan_by(routes::kBinomialTree), 0) {
  for (const RankPlace& place : places_) {
    shares_memory_ = shares_memory_ && place.memory == places_[0].memory;
    one_machine_ = one_machine_ && place.machine == places_[0].machine;
  }
  if (!planner_ && one_machine_ && !measured.empty()) take_measured(measured);
}

void GroupRoutes::take_measured(const MeasuredRoutes& measured) {
  const std::uint64_t digest = measured.digest();
  std::set<std::uint32_t> memories;
  for (const RankPlace& place : places_) {
    if (place.measured_routes != digest) return;
    memories.insert(place.memory);
  }
  if (!shares_memory_ && memories.size() < places_.size()) return;
  for (const Operation operation : kChosenOperations) {
    const auto ranks = static_cast<std::uint32_t>(places_.size());
    for (const auto& [bytes_max, way] : measured.of(shares_memory_, ranks, operation)) {
      measured_[static_cast<std::size_t>(operation)].push_back(
          {bytes_max, RoutePlans(way->plan, way->piece_bytes)});
    }
  }
}

bool GroupRoutes::go_by_measured() const {
  return std::ranges::any_of(measured_, [](const auto& sizes) { return !sizes.empty(); });
}

const RoutePlans* GroupRoutes::measured_route(Operation operation, std::uint64_t bytes) const {
  for (const MeasuredPlans& each : measured_[static_cast<std::size_t>(operation)]) {
    if (bytes <= each.bytes_max) return &each.plans;
  }
  return nullptr;
}

const RoutePlans& GroupRoutes::only_route(Operation operation) const {
  return operation == Operation::kNeighbours ? spread_
         : operation == Operation::kBarrier  ? barrier_
                                             : whole_tree_;
}

// Formulas know nothing of copying while adding, so that all but trees of one vector go in pieces; nor that
// slices gain nothing where all levels cross one network. In one machine all pairs of ranks are alike. What
// takes memory each time is left to operations that have no other route.
bool GroupRoutes::is_worth_a_try(const Plan& plan, Operation operation, std::uint64_t bytes) const {
  if (!is_rooted(operation) && plan.piece_elements == 0 && bytes > cost_model_.piece_bytes) return false;
  if (plan.route == &routes::kSpread && places_.size() > kSpreadRanksMax) return false;
  if (plan.route == &routes::kHierarchical)
    return has_levels() && (plan.channels == 1 || has_groups_of(plan.levels, levels_));
  return is_rooted(operation) || !plan.route->makes_lists;
}

// By formula: in a simulation links carry beside a rank's core, where here it is cores that carry.
std::unique_ptr<const RoutePlans> GroupRoutes::planned(Operation operation, std::uint64_t bytes) const {
  if (planner_) {
    const Plan plan = planner_(operation, bytes);
    return std::make_unique<const RoutePlans>(plan, plan.piece_elements * Demand::kElementBytes);
  }
  Demand demand;
  demand.operation = operation;
  demand.bytes = bytes;
  demand.ranks = static_cast<std::uint32_t>(places_.size());
  PlannerOptions options;
  options.handling = cost_model_.handling;
  options.piece_bytes = cost_model_.piece_bytes;
  options.simulates = false;
  options.tries_levels = has_levels();
  options.takes = [&](const Plan& plan) { return is_worth_a_try(plan, operation, bytes); };
  Result<Layout> chosen = choose_route(cost_model_.topology, demand, {}, options);
  THALWEG_CHECK(chosen.ok(), "each operation has a route");
  const std::size_t piece = chosen->plan.piece_elements > 0 ? cost_model_.piece_bytes : 0;
  return std::make_unique<const RoutePlans>(std::move(chosen->plan), piece);
}

const Plan& GroupRoutes::choose(Operation operation, std::size_t bytes, std::size_t element_bytes,
                                bool in_order) {
  const RoutePlans* const measured = in_order ? nullptr : measured_route(operation, bytes);
  if (measured) return measured->of(element_bytes);
  if (shares_memory_ && bytes >= kSharedBytes && supports(operation, routes::kShared) &&
      operation != Operation::kBarrier) {
    return shared_.of(element_bytes);
  }
  if (in_order && operation == Operation::kReduceScatter) return spread_.of(element_bytes);
  if (in_order) return (operation == Operation::kReduce ? tree_ : doubling_).of(element_bytes);
  if (!is_planned(operation)) return only_route(operation).of(element_bytes);
  auto& chosen =
      planned_[static_cast<std::size_t>(operation)][static_cast<std::size_t>(std::bit_width(bytes))];
  if (!chosen) {
    chosen = planned(operation, bytes == 0 ? 0 : std::bit_floor(bytes));
    ++plans_made_;
  }
  return chosen->of(element_bytes);
}

Result<std::shared_ptr<const RoutePlans>> GroupRoutes::shape(const std::shared_ptr<const RoutePlans>& plans) {
  const Plan& asked = plans->of(1);
  const bool wants_levels = asked.route->shape == RouteShape::kByLevels && asked.levels.empty();
  const bool wants_rings = asked.route->shape == RouteShape::kByRings && asked.rings.empty();
  if (!wants_levels && !wants_rings) return plans;
  if (shaped_from_ == plans) return shaped_;
  Plan plan = asked;
  if (wants_levels) {
    if (levels_.empty()) {
      return refuse_route(asked.route->name,
                          "the group's ranks are not numbered machine by machine; expected levels, such as "
                          "hierarchical:4x2");
    }
    plan.levels = levels_;
  } else {
    Result<std::vector<Ring>> rings =
        rings_by_stride(static_cast<std::uint32_t>(places_.size()), plan.ring_count);
    if (!rings) return rings.status();
    plan.rings = *std::move(rings);
  }
  shaped_ = std::make_shared<const RoutePlans>(plan, static_cast<std::size_t>(asked.piece_elements));
  shaped_from_ = plans;
  return shaped_;
}

bool GroupRoutes::have_time_to_overlap() const {
  const auto elsewhere = [&](const RankPlace& place) { return place.machine != places_.front().machine; };
  return std::any_of(places_.begin(), places_.end(), elsewhere) ||
         places_.front().cores >= 2 * places_.size();
}

}  // namespace thalweg
