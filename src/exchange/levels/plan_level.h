// Levels of a hierarchical route, innermost first, as its name has them: "4tx2h" is machines of four ranks
// by trees, and two machines by halving-doubling; "3+5x2" a machine of three and one of five.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace thalweg {

// What the members of one group of a level do.
enum class LevelWay : std::uint8_t {
  kRing,      // "r", or no letter: each member goes on with its part of the vector, summed up around.
  kTree,      // "t": one goes on with all of it, summed up over a binomial tree.
  kHalving,   // "h": as kRing, by halving-doubling.
  kDoubling,  // "d": recursive doubling, of the outermost level.
};

struct PlanLevel {
  PlanLevel() = default;
  // NOLINTNEXTLINE(google-explicit-constructor)
  PlanLevel(std::uint32_t each, LevelWay by = LevelWay::kRing) : size(each), way(by) {}
  // Groups of these sizes.
  static PlanLevel of(std::vector<std::uint32_t> groups, LevelWay by = LevelWay::kRing);
  std::uint32_t size = 1;  // Members of every group, or of the smallest; so many go on with a part each.
  LevelWay way = LevelWay::kRing;
  std::vector<std::uint32_t> sizes{};  // Of the groups, where they differ.
  std::uint32_t largest() const;
  // Whether each member goes on with a part of its own.
  bool divides() const { return way == LevelWay::kRing || way == LevelWay::kHalving; }
  bool operator==(const PlanLevel&) const = default;
};
using PlanLevels = std::vector<PlanLevel>;

// Sizes above this are refused, and more groups that differ.
inline constexpr std::uint32_t kLevelSizeMax = 4096;

std::string levels_text(const PlanLevels& levels);  // "4tx2h"
// False where `text` is no such thing.
bool parse_levels(std::string_view text, PlanLevels& levels);
const char* level_way_name(LevelWay way);  // "halving-doubling"
// Empty, or why so many ranks are not split that way.
std::string why_not_levels(const PlanLevels& levels, std::uint32_t ranks);

}  // namespace thalweg
