#include "exchange/levels/hierarchy.h"

namespace thalweg {

std::uint32_t Hierarchy::stride(std::size_t level) const {
  std::uint32_t stride = 1;
  for (std::size_t below = 0; below < level; ++below) stride *= levels_[below].size;
  return stride;
}

bool Hierarchy::goes_on(std::uint32_t rank, std::size_t level) const {
  return levels_[level].way != LevelWay::kTree || rank / stride(level) % levels_[level].size == kLeader;
}

bool Hierarchy::takes_part(std::uint32_t rank, std::size_t level) const {
  for (std::size_t below = 0; below < level; ++below) {
    if (!goes_on(rank, below)) return false;
  }
  return true;
}

Team Hierarchy::team(std::uint32_t rank, std::size_t level) const {
  const std::uint32_t distance = stride(level), me = rank / distance % levels_[level].size;
  return {levels_[level].size, me, rank - me * distance, distance, nullptr};
}

double Hierarchy::share(std::size_t level) const {
  double share = 1;
  for (std::size_t below = 0; below < level; ++below) {
    if (levels_[below].divides()) share /= levels_[below].size;
  }
  return share;
}

}  // namespace thalweg
