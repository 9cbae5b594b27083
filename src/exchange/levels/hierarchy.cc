#include "exchange/levels/hierarchy.h"

#include <algorithm>
#include <numeric>

namespace thalweg {

Hierarchy::Hierarchy(const PlanLevels& levels, std::uint32_t root) : levels_(levels) {
  while (equal_ < levels.size() && levels[equal_].sizes.empty()) ++equal_;
  if (equal_ < levels.size()) first_.resize(levels.size());
  for (std::size_t i = equal_; i < levels.size(); ++i) {
    std::uint32_t next = 0;
    for (const std::uint32_t size : levels[i].sizes) {
      first_[i].push_back(next);
      next += size;
    }
  }
  Seat seat{root, 0};
  for (std::size_t i = 0; i < levels.size(); ++i) root_.push_back(seat = seat_of_child(seat.group, i));
}

std::uint32_t Hierarchy::leader_of(std::uint32_t group, std::size_t level) const {
  const Seat& root = root_[level];
  return group == root.group ? root.index : std::min(root.index, group_size(group, level) - 1);
}

std::uint32_t Hierarchy::first_child(std::uint32_t group, std::size_t level) const {
  return levels_[level].sizes.empty() ? group * levels_[level].size : first_[level][group];
}

std::uint32_t Hierarchy::group_size(std::uint32_t group, std::size_t level) const {
  return levels_[level].sizes.empty() ? levels_[level].size : levels_[level].sizes[group];
}

Hierarchy::Seat Hierarchy::seat_of_child(std::uint32_t child, std::size_t level) const {
  if (levels_[level].sizes.empty()) return {child / levels_[level].size, child % levels_[level].size};
  const std::vector<std::uint32_t>& first = first_[level];
  const auto behind = std::upper_bound(first.begin(), first.end(), child);
  return {static_cast<std::uint32_t>(behind - first.begin()) - 1, child - *(behind - 1)};
}

Hierarchy::Seat Hierarchy::seat(std::uint32_t rank, std::size_t level) const {
  Seat seat{rank, 0};
  for (std::size_t at = 0; at <= level; ++at) seat = seat_of_child(seat.group, at);
  return seat;
}

bool Hierarchy::goes_on_from(Seat seat, std::size_t level) const {
  const PlanLevel& which = levels_[level];
  return which.divides() ? seat.index < which.size
                         : which.way != LevelWay::kTree || seat.index == leader_of(seat.group, level);
}

bool Hierarchy::goes_on(std::uint32_t rank, std::size_t level) const {
  const PlanLevel& which = levels_[level];
  return (which.divides() && which.sizes.empty()) || goes_on_from(seat(rank, level), level);
}

bool Hierarchy::takes_part(std::uint32_t rank, std::size_t level) const {
  Seat seat{rank, 0};
  for (std::size_t below = 0; below < level; ++below) {
    seat = seat_of_child(seat.group, below);
    if (!goes_on_from(seat, below)) return false;
  }
  return true;
}

bool Hierarchy::begins_team(std::uint32_t rank, std::size_t level) const {
  return index(rank, level) == 0 && takes_part(rank, level);
}

std::uint32_t Hierarchy::stride(std::size_t level) const {
  if (level >= equal_) return 0;
  std::uint32_t ranks = 1;
  for (std::size_t below = 0; below < level; ++below) ranks *= levels_[below].size;
  return ranks;
}

std::uint32_t Hierarchy::counterpart(std::uint32_t like, std::uint32_t child, std::size_t level) const {
  for (std::size_t below = level; below-- > 0;) {
    const bool leads = levels_[below].way == LevelWay::kTree;
    child = first_child(child, below) + (leads ? leader_of(child, below) : seat(like, below).index);
  }
  return child;
}

Team Hierarchy::team(std::uint32_t rank, std::size_t level, TeamOrder& order) const {
  if (level < equal_) {
    const std::uint32_t distance = stride(level);
    const std::uint32_t me = rank / distance % levels_[level].size;
    return {levels_[level].size, me, rank - me * distance, distance, nullptr};
  }
  const Seat mine = seat(rank, level);
  order.resize(group_size(mine.group, level));
  for (std::uint32_t member = 0; member < order.size(); ++member)
    order[member] = counterpart(rank, first_child(mine.group, level) + member, level);
  return {static_cast<std::uint32_t>(order.size()), mine.index, 0, 0, order.data()};
}

std::uint32_t Hierarchy::groups(std::size_t level) const {
  std::uint32_t count = 1;
  for (std::size_t at = levels_.size(); --at > level;)
    count = levels_[at].sizes.empty()
                ? count * levels_[at].size
                : std::accumulate(levels_[at].sizes.begin(), levels_[at].sizes.end(), 0U);
  return count;
}

std::vector<std::uint32_t> Hierarchy::indices_below(std::uint32_t rank, std::size_t level) const {
  std::vector<std::uint32_t> indices;
  for (std::size_t below = 0; below < level; ++below) indices.push_back(seat(rank, below).index);
  return indices;
}

void Hierarchy::add_like(const std::vector<std::uint32_t>& indices, std::uint32_t child, std::size_t level,
                         std::vector<std::uint32_t>& to) const {
  if (level == 0) return to.push_back(child);
  const std::size_t below = level - 1;
  const std::uint32_t first = first_child(child, below), size = group_size(child, below);
  for (std::uint32_t index = indices[below]; index < size; index += levels_[below].size)
    add_like(indices, first + index, below, to);
}

PartLists Hierarchy::parts_by_member(std::uint32_t rank, std::size_t level) const {
  const std::vector<std::uint32_t> indices = indices_below(rank, level);
  PartLists lists(members(rank, level));
  for (std::uint32_t group = 0; group < groups(level); ++group) {
    const std::uint32_t first = first_child(group, level);
    for (std::uint32_t index = 0; index < group_size(group, level); ++index)
      add_like(indices, first + index, level, lists[index % levels_[level].size]);
  }
  return lists;
}

std::vector<std::uint32_t> Hierarchy::parts_below(std::uint32_t rank, std::size_t level,
                                                  std::uint32_t index) const {
  std::vector<std::uint32_t> ranks;
  add_like(indices_below(rank, level), first_child(seat(rank, level).group, level) + index, level, ranks);
  return ranks;
}

double Hierarchy::share(std::size_t level) const {
  double share = 1;
  for (std::size_t below = 0; below < level; ++below) {
    if (levels_[below].divides()) share /= levels_[below].size;
  }
  return share;
}

double Hierarchy::share_going_on(std::size_t level) const {
  const PlanLevel& which = levels_[level];
  const double going = which.way == LevelWay::kTree ? 1 : which.size;
  if (which.sizes.empty()) return going / which.size;
  double all = 0;
  for (const std::uint32_t size : which.sizes) all += size;
  return going * static_cast<double>(which.sizes.size()) / all;
}

}  // namespace thalweg
