#include "exchange/levels/level_seconds.h"

#include <bit>
#include <cmath>

#include "exchange/route/folded_team.h"

namespace thalweg {
namespace {

// Seconds of rounds that ranks take one after another at one level.
class LevelRounds {
 public:
  LevelRounds(RoundCosts& costs, const Hierarchy& hierarchy, std::size_t level, std::uint32_t ranks)
      : costs_(costs) {
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      if (hierarchy.takes_part(rank, level)) teams_.push_back(hierarchy.team(rank, level));
    }
  }

  double ring(std::uint32_t size, double block) {
    return 2.0 * (size - 1) * round([block](const Team& team, Round& to) {
             to.push_back({team.rank(team.me), team.rank(team.after(team.me)), block / team.size});
           });
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
    const std::uint32_t folded = std::bit_floor(size);
    double seconds = 0;
    for (std::uint32_t distance = 1; distance < folded; distance *= 2) {
      const double each = halves ? block * distance / folded : block;
      seconds += (halves ? 2 : 1) * round([each, distance](const Team& team, Round& to) {
                   const FoldedTeam among(team);
                   if (!among.hands_in())
                     to.push_back({team.rank(team.me), among.rank(among.me() ^ distance), each});
                 });
    }
    if (folded == size) return seconds;
    return seconds + 2 * round([block](const Team& team, Round& to) {
                       const FoldedTeam among(team);
                       if (among.hands_in()) to.push_back({team.rank(team.me), among.partner(), block});
                     });
  }

 private:
  template <class Add>
  double round(const Add& add) {
    Round made;
    for (const Team& team : teams_) add(team, made);
    return costs_.of(made).whole();
  }

  RoundCosts& costs_;
  std::vector<Team> teams_;  // Of those who take part.
};

}  // namespace

double level_seconds(RoundCosts& costs, const Hierarchy& hierarchy, std::size_t level, std::uint32_t ranks,
                     double block) {
  const PlanLevel& which = hierarchy.level(level);
  if (which.size <= 1) return 0;
  LevelRounds rounds(costs, hierarchy, level, ranks);
  switch (which.way) {
    case LevelWay::kTree:
      return rounds.tree(which.size, block);
    case LevelWay::kHalving:
    case LevelWay::kDoubling:
      return rounds.doubling(which.size, block, which.divides());
    case LevelWay::kRing:
      break;
  }
  return rounds.ring(which.size, block);
}

double level_messages(const Layout& layout, const Hierarchy& hierarchy, std::size_t level, double block) {
  const PlanLevel& which = hierarchy.level(level);
  double members = layout.size(), messages = 0;
  for (std::size_t below = 0; below < level; ++below) {
    if (hierarchy.level(below).way == LevelWay::kTree) members /= hierarchy.level(below).size;
  }
  const std::uint32_t folded = std::bit_floor(which.size);
  switch (which.way) {
    case LevelWay::kTree:
      return 2 * members * (which.size - 1) / which.size * pieces_of(layout, block);
    case LevelWay::kHalving:
    case LevelWay::kDoubling:
      for (std::uint32_t parts = 2; parts <= folded; parts *= 2) {
        messages += which.divides() ? 2 * members * pieces_of(layout, block / parts)
                                    : members * pieces_of(layout, block);
      }
      return messages + (folded < which.size ? members * pieces_of(layout, block) : 0);
    case LevelWay::kRing:
      break;
  }
  return 2 * members * (which.size - 1) * pieces_of(layout, block / which.size);
}

double level_added_bytes(const PlanLevel& level, double block) {
  const double size = level.size;
  return block * (level.divides() ? (size - 1) / size : std::ceil(std::log2(size)));
}

double level_fetched_bytes(const PlanLevel& level, double block, double cache_bytes) {
  return bytes_beyond(cache_bytes, level.divides() ? block / level.size : block);
}

}  // namespace thalweg
