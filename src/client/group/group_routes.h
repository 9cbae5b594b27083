// The plans behind a route's name, and which one an operation takes when its caller names none.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "client/group/group_cost_model.h"
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

// Channels that an operation by this plan uses at most.
std::uint32_t channels_of(const Plan& plan);

// One group's routes. They follow from where its ranks run alone, so that all of them choose the same.
class GroupRoutes {
 public:
  // `places`: of the group's ranks, in their order.
  explicit GroupRoutes(std::vector<RankPlace> places);
  // The plan lives as long as this does. A size is looked at when it comes first, and its choice kept.
  // `in_order`: contributions must combine in the order of ranks.
  const Plan& choose(Operation operation, std::size_t bytes, std::size_t element_bytes,
                     bool in_order = false);
  // Where the plans leave rings or levels to the group, the same with this group's; else the plans
  // themselves. Errors: kUsage.
  Result<std::shared_ptr<const RoutePlans>> shape(const std::shared_ptr<const RoutePlans>& plans);
  // Group::has_time_to_overlap() of such ranks.
  bool have_time_to_overlap() const;

 private:
  struct Candidate {
    RoutePlans plans;
    Layout layout;  // Of elements of four bytes.
  };
  static constexpr std::size_t kSizeClasses = 8 * sizeof(std::size_t) + 1;
  static constexpr std::uint8_t kUnknown = 255;
  void add(Operation operation, Plan plan, std::size_t piece_bytes);
  struct LevelWays {
    LevelWay inside, between;  // Machines.
  };
  void add_hierarchy(Operation operation, LevelWays ways, std::uint32_t slices, std::size_t piece_bytes);
  std::uint8_t fastest(Operation operation, std::uint64_t bytes) const;

  const std::vector<RankPlace> places_;
  const PlanLevels levels_;
  const GroupCostModel cost_model_;
  bool shares_memory_ = true;  // All ranks, with each other.
  std::array<std::vector<Candidate>, kOperations> candidates_;
  std::array<std::array<std::uint8_t, kSizeClasses>, kOperations> chosen_;  // In candidates_.
  const RoutePlans shared_;
  const RoutePlans doubling_, tree_, spread_;               // For the order of ranks.
  std::shared_ptr<const RoutePlans> shaped_from_, shaped_;  // The last ones.
};

}  // namespace thalweg
