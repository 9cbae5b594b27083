#include "exchange/plan/hierarchies.h"

#include <algorithm>
#include <map>

#include "exchange/plan/round_costs.h"
#include "exchange/route/formulas.h"
#include "exchange/route/route.h"

namespace thalweg {
namespace {

struct Split {
  std::vector<std::uint32_t> levels;
  double seconds = 0;
};

std::string name_of(const Split& split) {
  std::string name = routes::kHierarchical.name;
  char before = ':';
  for (const std::uint32_t level : split.levels) {
    name += before + std::to_string(level);
    before = 'x';
  }
  return name;
}

void keep_fastest(std::vector<Split>& splits, std::size_t count) {
  std::stable_sort(splits.begin(), splits.end(),
                   [](const Split& a, const Split& b) { return a.seconds < b.seconds; });
  if (splits.size() > count) splits.resize(count);
}

// The fastest splits of the first `stride` ranks, by stride. What a level takes depends on the ranks below it
// and on its own size alone, so the fastest continue the fastest.
class Splits {
 public:
  Splits(const Topology& topology, const Demand& demand, const Layout& layout, std::size_t count)
      : demand_(demand), costs_(topology, layout, unhandled_), count_(count) {
    by_stride_[1].push_back({});
  }

  std::vector<Split> all() {
    for (std::uint32_t stride = 1; stride < demand_.ranks; ++stride) {
      if (demand_.ranks % stride == 0) extend(stride);
    }
    return by_stride_[demand_.ranks];
  }

 private:
  void extend(std::uint32_t stride) {
    const std::vector<Split> splits = by_stride_[stride];
    for (std::uint32_t level = 2; level <= demand_.ranks / stride; ++level) {
      if (demand_.ranks / stride % level != 0 || level == demand_.ranks) continue;
      const double each =
          level_seconds(costs_, demand_.ranks, stride, level, static_cast<double>(demand_.bytes));
      auto& longer = by_stride_[stride * level];
      for (Split split : splits) {
        split.levels.push_back(level);
        split.seconds += each;
        longer.push_back(std::move(split));
      }
      keep_fastest(longer, count_);
    }
  }

  const Demand& demand_;
  const Handling unhandled_{};
  RoundCosts costs_;
  std::size_t count_;
  std::map<std::uint32_t, std::vector<Split>> by_stride_;
};

}  // namespace

std::vector<std::string> fastest_hierarchies(const Topology& topology, const Demand& demand,
                                             std::size_t count) {
  Demand whole = demand;
  whole.pipelined = false;
  const auto layout = lay_out(topology, whole, routes::kHierarchical.name);
  if (!layout.ok() || demand.ranks > kSplitRanksMax) return {};
  std::vector<std::string> names;
  for (const Split& split : Splits(topology, whole, *layout, count).all()) names.push_back(name_of(split));
  return names;
}

}  // namespace thalweg
