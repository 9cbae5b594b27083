#include "cli/options/suggest.h"

#include <algorithm>
#include <array>

namespace thalweg {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  constexpr std::size_t kMax = 64;
  a = a.substr(0, kMax), b = b.substr(0, kMax);
  std::array<std::array<std::size_t, kMax + 1>, kMax + 1> cost{};
  for (std::size_t i = 0; i <= a.size(); ++i) cost[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) cost[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = cost[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
      }
    }
  }
  return cost[a.size()][b.size()];
}

std::string_view nearest(std::string_view text, const std::vector<std::string_view>& names) {
  std::string_view best;
  std::size_t best_distance = std::max<std::size_t>(1, text.size() / 3) + 1;
  for (const std::string_view name : names) {
    const bool begins = text.size() >= 2 && name.size() > text.size() && name.substr(0, text.size()) == text;
    const std::size_t distance = begins ? 1 : edit_distance(text, name);
    if (distance < best_distance) best = name, best_distance = distance;
  }
  return best;
}

}  // namespace thalweg
