// The plans behind a route's name, and which one an operation takes when its caller names none.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "client/group/group_cost_model.h"
#include "exchange/costs/measured_routes.h"
#include "exchange/plan/plan.h"
#include "thalweg/group.h"

namespace thalweg {

// What a RouteChoice holds: one plan for each element size, since pieces are given in bytes and plans count
// elements.
struct RoutePlans {
  static constexpr std::size_t kSizes = 13;
  static RouteChoice choice(const Plan& plan, std::size_t piece_bytes);
  static const std::shared_ptr<const RoutePlans>& behind(const RouteChoice& choice) { return choice.plans_; }
  RoutePlans(const Plan& plan, std::size_t piece_bytes);
  const Plan& of(std::size_t element_bytes) const;
  std::array<Plan, kSizes> by_log2_size;
};

// As RouteChoice::named(), of `own` routes too, which outlive all that is done by them; all ranks give the
// same.
Result<RouteChoice> choose_by_name(std::string_view name, RouteChoice::Tuning tuning,
                                   std::span<const Route* const> own);

// The plan of an operation on so many bytes where somebody knows more of the network than a group does; the
// same at all ranks.
using RoutePlanner = std::function<Plan(Operation operation, std::uint64_t bytes)>;

// One group's routes. They follow from where its ranks run and from what was measured, where all of them know
// the same of it, so that all choose the same.
class GroupRoutes {
 public:
  // `places`: of the group's ranks, in their order. `planner`, if any, chooses in the place of formulas.
  // `measured`: as this rank knows it; what `places` say decides whether it counts.
  explicit GroupRoutes(std::vector<RankPlace> places, RoutePlanner planner = nullptr,
                       const MeasuredRoutes& measured = {});
  // The plan lives as long as this does. A size is looked at when it comes first, and its choice kept.
  // `in_order`: contributions must combine in the order of ranks.
  const Plan& choose(Operation operation, std::size_t bytes, std::size_t element_bytes,
                     bool in_order = false);
  // Where the plans leave rings or levels to the group, the same with this group's; else the plans
  // themselves. Errors: kUsage.
  Result<std::shared_ptr<const RoutePlans>> shape(const std::shared_ptr<const RoutePlans>& plans);
  // Whether any choice is a measured one.
  bool go_by_measured() const;
  // How often the planner was asked: once for each operation and size, to a power of two.
  std::size_t plans_made() const { return plans_made_; }
  // Group::has_time_to_overlap() of such ranks.
  bool have_time_to_overlap() const;

 private:
  static constexpr std::size_t kSizeClasses = 8 * sizeof(std::size_t) + 1;
  // What was measured of such a group counts.
  void take_measured(const MeasuredRoutes& measured);
  // Null where nothing was.
  const RoutePlans* measured_route(Operation operation, std::uint64_t bytes) const;
  // Of operations that have one route.
  const RoutePlans& only_route(Operation operation) const;
  // Of others, what the planner chooses for vectors of that size.
  std::unique_ptr<const RoutePlans> planned(Operation operation, std::uint64_t bytes) const;
  bool has_levels() const { return !one_machine_ && !levels_.empty(); }
  bool is_worth_a_try(const Plan& plan, Operation operation, std::uint64_t bytes) const;

  const std::vector<RankPlace> places_;
  const PlanLevels levels_;
  const GroupCostModel cost_model_;
  const RoutePlanner planner_;
  bool shares_memory_ = true;  // All ranks, with each other.
  bool one_machine_ = true;
  struct MeasuredPlans {
    std::uint64_t bytes_max = 0;
    RoutePlans plans;
  };
  std::array<std::vector<MeasuredPlans>, kOperations> measured_;  // By size.
  std::array<std::array<std::unique_ptr<const RoutePlans>, kSizeClasses>, kOperations> planned_;
  std::size_t plans_made_ = 0;
  const RoutePlans shared_;
  const RoutePlans doubling_, tree_, spread_;  // For the order of ranks.
  const RoutePlans barrier_, whole_tree_;
  std::shared_ptr<const RoutePlans> shaped_from_, shaped_;  // The last ones.
};

}  // namespace thalweg
