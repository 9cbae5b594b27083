// Who meets whom at which level of a hierarchical route.
#pragma once

#include <cstddef>
#include <cstdint>

#include "exchange/levels/plan_level.h"
#include "exchange/route/team.h"

namespace thalweg {

class Hierarchy {
 public:
  // `levels` outlive this; they may be the first ones of what the ranks are split into.
  explicit Hierarchy(const PlanLevels& levels) : levels_(levels) {}

  std::size_t depth() const { return levels_.size(); }
  const PlanLevel& level(std::size_t at) const { return levels_[at]; }
  // Whether the levels below leave the rank something to do at this one.
  bool takes_part(std::uint32_t rank, std::size_t level) const;
  // Whether it goes on above this one, if it has come that far.
  bool goes_on(std::uint32_t rank, std::size_t level) const;
  // Whom it meets there. Precondition: it takes part.
  Team team(std::uint32_t rank, std::size_t level) const;
  // Who sums up where one member does: of a level that does not divide.
  static constexpr std::uint32_t kLeader = 0;
  // The share of the vector that a rank has left below this level.
  double share(std::size_t level) const;

 private:
  // Ranks in a group of the levels below.
  std::uint32_t stride(std::size_t level) const;
  const PlanLevels& levels_;
};

}  // namespace thalweg
