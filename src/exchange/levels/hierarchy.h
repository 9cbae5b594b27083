// Who meets whom at which level of a hierarchical route.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "exchange/levels/plan_level.h"
#include "exchange/route/team.h"

namespace thalweg {

// The ranks of one team, where these are no equal distance apart.
using TeamOrder = std::vector<std::uint32_t>;

class Hierarchy {
 public:
  // `levels` outlive this; they may be the first ones of what the ranks are split into. Where one member goes
  // on for all it is `root`, or the one in its place.
  explicit Hierarchy(const PlanLevels& levels, std::uint32_t root = 0);

  std::size_t depth() const { return levels_.size(); }
  const PlanLevel& level(std::size_t at) const { return levels_[at]; }
  // Whether the levels below leave the rank something to do at this one.
  bool takes_part(std::uint32_t rank, std::size_t level) const;
  // Whether it goes on above this one, if it has come that far.
  bool goes_on(std::uint32_t rank, std::size_t level) const;
  // Whether it takes part and is the first one whom it meets there.
  bool begins_team(std::uint32_t rank, std::size_t level) const;
  // Ranks below one member of that level; 0 where groups of any level up to it differ.
  std::uint32_t stride(std::size_t level) const;
  // Its number in its group of that level.
  std::uint32_t index(std::uint32_t rank, std::size_t level) const { return seat(rank, level).index; }
  // Whom it meets there. The team refers to `order`. Precondition: it takes part.
  Team team(std::uint32_t rank, std::size_t level, TeamOrder& order) const;
  // The member of that team who goes on for all of a level that does not divide, or who is the root or above
  // it.
  std::uint32_t leader(std::uint32_t rank, std::size_t level) const {
    return leader_of(seat(rank, level).group, level);
  }
  // Whether the root is below it as well.
  bool is_with_root(std::uint32_t rank, std::size_t level) const {
    return seat(rank, level).group == root_[level].group;
  }
  // Of an operation that gives each rank a part, by levels that divide all ranks: by member of the rank's
  // team there, the ranks whose parts it goes on with. These agree with the rank in the levels below. Those
  // whose group has more members than go on count as the one of these whose turn it is.
  PartLists parts_by_member(std::uint32_t rank, std::size_t level) const;
  // The same of the ranks below the team's member `index` alone.
  std::vector<std::uint32_t> parts_below(std::uint32_t rank, std::size_t level, std::uint32_t index) const;
  // Members of the rank's group there.
  std::uint32_t members(std::uint32_t rank, std::size_t level) const {
    return group_size(seat(rank, level).group, level);
  }
  // The share of the vector that a rank has left below this level.
  double share(std::size_t level) const;
  // The share of those who take part at a level that goes on, as a mean.
  double share_going_on(std::size_t level) const;

 private:
  struct Seat {
    std::uint32_t group = 0;  // Of the level.
    std::uint32_t index = 0;  // In it.
  };
  Seat seat(std::uint32_t rank, std::size_t level) const;
  bool goes_on_from(Seat seat, std::size_t level) const;
  std::uint32_t leader_of(std::uint32_t group, std::size_t level) const;
  Seat seat_of_child(std::uint32_t child, std::size_t level) const;
  std::uint32_t first_child(std::uint32_t group, std::size_t level) const;
  std::uint32_t group_size(std::uint32_t group, std::size_t level) const;
  // Who takes part at a level among the ranks of one group of the level below: the one in `like`'s place.
  std::uint32_t counterpart(std::uint32_t like, std::uint32_t child, std::size_t level) const;

  std::uint32_t groups(std::size_t level) const;
  // Adds the ranks below a member of a group of that level which have `indices` in the levels below, as far
  // as so many go on.
  void add_like(const std::vector<std::uint32_t>& indices, std::uint32_t child, std::size_t level,
                std::vector<std::uint32_t>& to) const;
  std::vector<std::uint32_t> indices_below(std::uint32_t rank, std::size_t level) const;

  const PlanLevels& levels_;
  std::vector<Seat> root_;                         // By level.
  std::vector<std::vector<std::uint32_t>> first_;  // By level, where sizes differ: of each group.
  std::size_t equal_ = 0;                          // Levels, from the innermost on, whose sizes are equal.
};

}  // namespace thalweg
