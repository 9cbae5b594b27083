#include "exchange/levels/plan_level.h"

#include <charconv>

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

// "4t"
bool parse_level(std::string_view text, PlanLevel& level) {
  for (const WayName& each : kWayNames) {
    if (text.empty() || text.back() != each.letter) continue;
    level.way = each.way;
    text.remove_suffix(1);
    break;
  }
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), level.size);
  return error == std::errc() && end == text.data() + text.size() && level.size > 0 &&
         level.size <= kLevelSizeMax;
}

}  // namespace

const char* level_way_name(LevelWay way) { return way_name(way).name; }

std::string levels_text(const PlanLevels& levels) {
  std::string text;
  for (const PlanLevel& level : levels) {
    if (!text.empty()) text += 'x';
    text += std::to_string(level.size);
    if (level.way != LevelWay::kRing) text += way_name(level.way).letter;
  }
  return text;
}

bool parse_levels(std::string_view text, PlanLevels& levels) {
  for (;;) {
    const std::size_t x = text.find('x');
    if (!parse_level(text.substr(0, x), levels.emplace_back())) return false;
    if (x == text.npos) return true;
    text.remove_prefix(x + 1);
  }
}

std::string why_not_levels(const PlanLevels& levels, std::uint32_t ranks) {
  std::uint64_t product = 1;
  for (const PlanLevel& level : levels) {
    product *= level.size;
    if (product > ranks) break;
  }
  if (levels.empty() || product != ranks)
    return "its levels must multiply to the " + std::to_string(ranks) + " ranks";
  for (std::size_t i = 0; i + 1 < levels.size(); ++i) {
    if (levels[i].way == LevelWay::kDoubling)
      return "d, recursive doubling, is of the outermost level; expected r, t or h before it";
  }
  return {};
}

}  // namespace thalweg
