#include "client/group/group_routes.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "exchange/preface.h"
#include "exchange/route/route.h"

namespace thalweg {
namespace {

// From here on it pays to say where buffers are and to work on them in place, even though ranks whose buffers
// are not in group memory say so in vain.
constexpr std::size_t kSharedBytes = std::size_t{64} << 10;
// Between more ranks than these, all-to-all traffic is too much to look at, and for most switches.
constexpr std::size_t kSpreadRanksMax = 32;
// Slices of a vector that are on several levels at a time.
constexpr std::uint32_t kSlices = 4;

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

Result<RouteChoice> RouteChoice::named(std::string_view name, Tuning tuning) {
  return choose_by_name(name, tuning, {});
}

std::uint32_t channels_of(const Plan& plan) {
  std::size_t lanes = plan.route->lanes;
  if (plan.route->shape == RouteShape::kByRings) lanes *= plan.rings.size();
  if (plan.route->shape == RouteShape::kByTrees) lanes *= plan.trees.size();
  return static_cast<std::uint32_t>(plan.channels * lanes);
}

GroupRoutes::GroupRoutes(std::vector<RankPlace> places)
    : places_(std::move(places)),
      levels_(machine_levels(places_)),
      cost_model_(group_cost_model(places_)),
      shared_(plan_by(routes::kShared), kSharedMemoryPieceBytes),
      doubling_(plan_by(routes::kRecursiveDoubling), cost_model_.piece_bytes),
      tree_(plan_by(routes::kBinomialTree), cost_model_.piece_bytes),
      spread_(plan_by(routes::kSpread), cost_model_.piece_bytes) {
  for (const RankPlace& place : places_) shares_memory_ = shares_memory_ && place.memory == places_[0].memory;
  for (auto& chosen : chosen_) chosen.fill(kUnknown);
  const std::size_t piece = cost_model_.piece_bytes;
  const bool few = places_.size() <= kSpreadRanksMax;
  for (std::size_t i = 0; i < kOperations; ++i) {
    const auto operation = static_cast<Operation>(i);
    switch (operation) {
      case Operation::kAllReduce:
        add(operation, plan_by(routes::kRecursiveDoubling), piece);
        add(operation, plan_by(routes::kRing), piece);
        add(operation, plan_by(routes::kHalvingDoubling), piece);
        if (few) add(operation, plan_by(routes::kSpread), piece);
        for (const std::uint32_t slices : {1U, kSlices})
          add_hierarchy(operation, {LevelWay::kRing, LevelWay::kRing}, slices, piece);
        add_hierarchy(operation, {LevelWay::kTree, LevelWay::kDoubling}, 1, piece);
        add_hierarchy(operation, {LevelWay::kHalving, LevelWay::kDoubling}, 1, piece);
        break;
      case Operation::kReduceScatter:
      case Operation::kAllGather:
        add(operation, plan_by(routes::kRing), piece);
        add(operation, plan_by(routes::kHalvingDoubling), piece);
        if (few) add(operation, plan_by(routes::kSpread), piece);
        add_hierarchy(operation, {LevelWay::kRing, LevelWay::kRing}, 1, piece);
        break;
      case Operation::kReduce:
      case Operation::kBroadcast:
        add(operation, plan_by(routes::kBinomialTree), 0);
        add(operation, plan_by(routes::kBinomialTree), piece);
        add(operation, plan_by(routes::kChain), piece);
        for (const std::size_t in_pieces : {std::size_t{0}, piece})
          add_hierarchy(operation, {LevelWay::kTree, LevelWay::kTree}, 1, in_pieces);
        break;
      case Operation::kBarrier:
        add(operation, plan_by(routes::kRecursiveDoubling), 0);
        break;
      case Operation::kGather:
      case Operation::kScatter:
      case Operation::kAllToAll:
      case Operation::kPointToPoint:
        add(operation, plan_by(routes::kBinomialTree), 0);
        break;
      case Operation::kNeighbours:
        add(operation, plan_by(routes::kSpread), piece);
    }
  }
}

// By machines, where their ranks allow it.
void GroupRoutes::add_hierarchy(Operation operation, LevelWays ways, std::uint32_t slices,
                                std::size_t piece_bytes) {
  if (levels_.size() <= 1) return;
  Plan plan = plan_by(routes::kHierarchical, slices);
  plan.levels = levels_;
  plan.levels.front().way = ways.inside;
  plan.levels.back().way = ways.between;
  if (check_plan(plan, operation, static_cast<std::uint32_t>(places_.size())).ok())
    add(operation, std::move(plan), piece_bytes);
}

void GroupRoutes::add(Operation operation, Plan plan, std::size_t piece_bytes) {
  const auto ranks = static_cast<std::uint32_t>(places_.size());
  THALWEG_CHECK(check_plan(plan, operation, ranks).ok(), "the defaults are possible");
  Layout layout;
  layout.endpoints.resize(ranks);
  std::iota(layout.endpoints.begin(), layout.endpoints.end(), 0U);
  const RoutePlans plans(plan, piece_bytes);
  layout.plan = plans.of(Demand::kElementBytes);
  candidates_[static_cast<std::size_t>(operation)].push_back({plans, std::move(layout)});
}

std::uint8_t GroupRoutes::fastest(Operation operation, std::uint64_t bytes) const {
  const auto& candidates = candidates_[static_cast<std::size_t>(operation)];
  if (candidates.size() == 1 || places_.size() == 1) return 0;
  Demand demand;
  demand.operation = operation;
  demand.bytes = bytes;
  demand.ranks = static_cast<std::uint32_t>(places_.size());
  std::uint8_t best = 0;
  double least = 0;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const double seconds =
        predicted_seconds(cost_model_.topology, demand, candidates[i].layout, cost_model_.handling);
    if (i > 0 && seconds >= least) continue;
    least = seconds;
    best = static_cast<std::uint8_t>(i);
  }
  return best;
}

const Plan& GroupRoutes::choose(Operation operation, std::size_t bytes, std::size_t element_bytes,
                                bool in_order) {
  if (shares_memory_ && bytes >= kSharedBytes && supports(operation, routes::kShared) &&
      operation != Operation::kBarrier) {
    return shared_.of(element_bytes);
  }
  if (in_order && operation == Operation::kReduceScatter) return spread_.of(element_bytes);
  if (in_order) return (operation == Operation::kReduce ? tree_ : doubling_).of(element_bytes);
  const auto index = static_cast<std::size_t>(operation);
  const auto size_class = static_cast<std::size_t>(std::bit_width(bytes));
  std::uint8_t& chosen = chosen_[index][size_class];
  if (chosen == kUnknown) chosen = fastest(operation, bytes == 0 ? 0 : std::bit_floor(bytes));
  return candidates_[index][chosen].plans.of(element_bytes);
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
