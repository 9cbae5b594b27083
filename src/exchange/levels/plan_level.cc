#include "exchange/levels/plan_level.h"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <utility>

namespace thalweg {
namespace {

struct WayName {
  LevelWay way;
  char letter;  // 0: no letter says the same.
  const char* name;
};
constexpr WayName kWayNames[] = {{LevelWay::kRing, 'r', "ring"},
                                 {LevelWay::kTree, 't', "binomial-tree"},
                                 {LevelWay::kHalving, 'h', "halving-doubling"},
                                 {LevelWay::kDoubling, 'd', "recursive-doubling"}};

const WayName& way_name(LevelWay way) { return kWayNames[static_cast<std::size_t>(way)]; }

bool parse_size(std::string_view text, std::uint32_t& size) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
  return error == std::errc() && end == text.data() + text.size() && size > 0 && size <= kLevelSizeMax;
}

// Calls take(part) with what stands between those characters, for as long as it returns true.
template <class Take>
bool each_part(std::string_view text, char between, const Take& take) {
  for (;;) {
    const std::size_t at = text.find(between);
    if (!take(text.substr(0, at))) return false;
    if (at == text.npos) return true;
    text.remove_prefix(at + 1);
  }
}

// "4t", "3+5"
bool parse_level(std::string_view text, PlanLevel& level) {
  LevelWay way = LevelWay::kRing;
  for (const WayName& each : kWayNames) {
    if (text.empty() || text.back() != each.letter) continue;
    way = each.way;
    text.remove_suffix(1);
    break;
  }
  std::vector<std::uint32_t> sizes;
  const bool good = each_part(text, '+', [&sizes](std::string_view part) {
    return sizes.size() < kLevelSizeMax && parse_size(part, sizes.emplace_back());
  });
  if (good) level = sizes.size() == 1 ? PlanLevel(sizes[0], way) : PlanLevel::of(std::move(sizes), way);
  return good;
}

}  // namespace

PlanLevel PlanLevel::of(std::vector<std::uint32_t> groups, LevelWay by) {
  const auto [least, most] = std::minmax_element(groups.begin(), groups.end());
  PlanLevel level(*least, by);
  if (*least != *most) level.sizes = std::move(groups);
  return level;
}

std::uint32_t PlanLevel::largest() const {
  return sizes.empty() ? size : *std::max_element(sizes.begin(), sizes.end());
}

const char* level_way_name(LevelWay way) { return way_name(way).name; }

std::string levels_text(const PlanLevels& levels) {
  std::string text;
  for (const PlanLevel& level : levels) {
    if (!text.empty()) text += 'x';
    for (std::size_t i = 0; i < level.sizes.size(); ++i)
      text.append(i > 0 ? "+" : "").append(std::to_string(level.sizes[i]));
    if (level.sizes.empty()) text += std::to_string(level.size);
    if (level.way != LevelWay::kRing) text += way_name(level.way).letter;
  }
  return text;
}

bool parse_levels(std::string_view text, PlanLevels& levels) {
  return each_part(text, 'x',
                   [&levels](std::string_view part) { return parse_level(part, levels.emplace_back()); });
}

std::string why_not_levels(const PlanLevels& levels, std::uint32_t ranks) {
  std::uint64_t left = levels.empty() ? 0 : ranks;  // Groups of the levels below.
  bool equal = true;
  for (const PlanLevel& level : levels) {
    equal = equal && level.sizes.empty();
    const std::uint64_t groups = level.sizes.empty() ? left / level.size : level.sizes.size();
    const std::uint64_t members =
        level.sizes.empty() ? groups * level.size
                            : std::accumulate(level.sizes.begin(), level.sizes.end(), std::uint64_t{0});
    left = members == left ? groups : 0;
  }
  if (left != 1 && equal) return "its levels must multiply to the " + std::to_string(ranks) + " ranks";
  if (left != 1) {
    return "its levels must make up the " + std::to_string(ranks) +
           " ranks, as 3+5x2 makes up 8: machines of 3 and of 5, and 2 of these";
  }
  for (std::size_t i = 0; i + 1 < levels.size(); ++i) {
    if (levels[i].way == LevelWay::kDoubling)
      return "d, recursive doubling, is of the outermost level; expected r, t or h before it";
  }
  return {};
}

}  // namespace thalweg
