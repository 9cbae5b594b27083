#include "exchange/levels/level_seconds.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "exchange/levels/level_lanes.h"
#include "exchange/plan/hierarchies.h"
#include "exchange/route/folded_team.h"
#include "exchange/route/formulas.h"

namespace thalweg {
namespace {

// Seconds of rounds that ranks take one after another at one level.
class LevelRounds {
 public:
  LevelRounds(RoundCosts& costs, const Hierarchy& hierarchy, std::size_t level, std::uint32_t ranks)
      : costs_(costs), ranks_(ranks) {
    teams_.reserve(ranks);
    made_.reserve(ranks);
    // Of equal levels, the first of each team are so many in a row, and the other members behind them.
    const std::uint32_t in_a_row = hierarchy.stride(level);
    const std::uint32_t behind = in_a_row * (hierarchy.level(level).size - 1);
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      if (in_a_row > 0 && rank % in_a_row == 0 && rank > 0) rank += behind;
      if (rank >= ranks || !hierarchy.begins_team(rank, level)) continue;
      TeamOrder order;
      Team team = hierarchy.team(rank, level, order);
      for (team.me = 0; team.me < team.size; ++team.me) teams_.push_back(team);
      if (!order.empty()) orders_.push_back(std::move(order));
    }
  }

  // A block goes around all of the ring, so that its long ways delay it no more often than its short ones.
  // Among so many ranks that formulas alone choose, each step counts as its longest way: rather too much.
  double ring(std::uint32_t size, double block) {
    const double steps = 2.0 * (size - 1);
    const RoundCosts::Cost cost = costs_.of(round_of([block](const Team& team, Round& to) {
      if (team.size > 1)
        to.push_back({team.rank(team.me), team.rank(team.after(team.me)), block / team.size});
    }));
    const double each = ranks_ <= kAllWaysRanksMax ? cost.mean_latency : cost.latency;
    return steps * cost.load + std::max(cost.latency, steps * each);
  }
  double tree(std::uint32_t size, double block) {
    double seconds = 0;
    for (std::uint32_t distance = 1; distance < size; distance *= 2) {
      seconds += 2 * round([block, distance](const Team& team, Round& to) {
                   if (team.me % (2 * distance) == distance)
                     to.push_back({team.rank(team.me), team.rank(team.me - distance), block});
                 });
    }
    return seconds;
  }
  double doubling(std::uint32_t size, double block, bool halves) {
    double seconds = 0;
    for (std::uint32_t distance = 1; distance < std::bit_floor(size); distance *= 2) {
      seconds += (halves ? 2 : 1) * round([=](const Team& team, Round& to) {
                   const FoldedTeam among(team);
                   const double each = halves ? block * distance / among.size() : block;
                   if (!among.hands_in() && distance < among.size())
                     to.push_back({team.rank(team.me), among.rank(among.me() ^ distance), each});
                 });
    }
    return seconds + 2 * round([block](const Team& team, Round& to) {
                       const FoldedTeam among(team);
                       if (among.hands_in()) to.push_back({team.rank(team.me), among.partner(), block});
                     });
  }
  // The parts of those who do not go on, to or from the members who do for them.
  double handing(const Hierarchy& hierarchy, std::size_t level, double each_part) {
    const std::uint32_t going_on = hierarchy.level(level).size;
    return costs_
        .of(round_of_all([&](const Team& team, Round& to) {
          for (std::uint32_t member = going_on; member < team.size; ++member) {
            const double parts =
                static_cast<double>(hierarchy.parts_below(team.rank(0), level, member).size());
            to.push_back({team.rank(member % going_on), team.rank(member), parts * each_part});
          }
        }))
        .whole();
  }
  // All parts to the root, or from it.
  double parts_of_root(std::uint32_t root, std::uint32_t size, double block) {
    const Round& round = round_of([=](const Team& team, Round& to) {
      for (std::uint32_t member = 0; team.rank(team.me) == root && member < team.size; ++member) {
        if (member != team.me) to.push_back({team.rank(member), root, block / team.size});
      }
    });
    const RoundCosts::Cost cost = costs_.of(round);
    return log2_depth(size) * cost.latency + cost.load;
  }

 private:
  // Until the next call.
  template <class Add>
  const Round& round_of(const Add& add) {
    made_.clear();
    for (const Team& team : teams_) add(team, made_);
    return made_;
  }
  // Calls add() once a team.
  template <class Add>
  const Round& round_of_all(const Add& add) {
    made_.clear();
    for (const Team& team : teams_) {
      if (team.me == 0) add(team, made_);
    }
    return made_;
  }
  template <class Add>
  double round(const Add& add) {
    return costs_.of(round_of(add)).whole();
  }

  RoundCosts& costs_;
  const std::uint32_t ranks_;
  std::vector<Team> teams_;  // Of those who take part.
  std::vector<TeamOrder> orders_;
  Round made_;
};

}  // namespace

double level_seconds(RoundCosts& costs, const Demand& demand, const Hierarchy& hierarchy, std::size_t level,
                     double block) {
  const PlanLevel& which = hierarchy.level(level);
  const std::uint32_t size = which.largest();
  if (size <= 1) return 0;
  LevelRounds rounds(costs, hierarchy, level, demand.ranks);
  double beside = 0;
  if (is_rooted(demand.operation) && which.divides())
    beside = 2 * rounds.parts_of_root(demand.root, size, block);
  if (gives_parts(demand.operation) && !which.sizes.empty())
    beside = 2 * rounds.handing(hierarchy, level, static_cast<double>(demand.bytes) / demand.ranks);
  switch (which.way) {
    case LevelWay::kTree:
      return rounds.tree(size, block);
    case LevelWay::kHalving:
    case LevelWay::kDoubling:
      return rounds.doubling(size, block, which.divides()) + beside;
    case LevelWay::kRing:
      break;
  }
  return rounds.ring(size, block) + beside;
}

namespace {

// In how many runs of ranks lie those whose parts are in one: where each rank has a part of its own.
double runs_of(const Demand& demand, const Hierarchy& hierarchy, std::size_t level) {
  if (!gives_parts(demand.operation)) return 1;
  double runs = demand.ranks;
  for (std::size_t i = 0; i <= level; ++i) runs /= hierarchy.level(i).size;
  return runs;
}

}  // namespace

double level_messages(const Demand& demand, const Layout& layout, const Hierarchy& hierarchy,
                      std::size_t level, double block) {
  const PlanLevel& which = hierarchy.level(level);
  double members = layout.size(), messages = 0;
  for (std::size_t below = 0; below < level; ++below) members *= hierarchy.share_going_on(below);
  const std::uint32_t size = which.largest(), folded = std::bit_floor(size);
  const double runs = runs_of(demand, hierarchy, level);
  switch (which.way) {
    case LevelWay::kTree:
      return 2 * members * (size - 1) / size * pieces_of(layout, block);
    case LevelWay::kHalving:
    case LevelWay::kDoubling:
      for (std::uint32_t parts = 2; parts <= folded; parts *= 2) {
        messages += which.divides() ? 2 * members * runs * pieces_of(layout, block / parts / runs)
                                    : members * pieces_of(layout, block);
      }
      return messages + (folded < size ? members * pieces_of(layout, block) : 0);
    case LevelWay::kRing:
      break;
  }
  return 2 * members * runs * (size - 1) * pieces_of(layout, block / size / runs);
}

double level_added_bytes(const PlanLevel& level, double block) {
  const double size = level.largest();
  return block * (level.divides() ? (size - 1) / size : std::ceil(std::log2(size)));
}

double level_fetched_bytes(const PlanLevel& level, double block, double cache_bytes) {
  return bytes_beyond(cache_bytes, level.divides() ? block / level.size : block);
}

}  // namespace thalweg
