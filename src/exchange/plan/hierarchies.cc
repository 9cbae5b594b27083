#include "exchange/plan/hierarchies.h"

#include <algorithm>
#include <bit>
#include <map>
#include <tuple>
#include <utility>

#include "exchange/levels/hierarchy.h"
#include "exchange/levels/level_lanes.h"
#include "exchange/levels/level_seconds.h"
#include "exchange/plan/round_costs.h"
#include "exchange/route/route.h"

namespace thalweg {
namespace {

struct Split {
  PlanLevels levels;
  double seconds = 0;
  // Those who have stopped below, as (ranks below, size) of trees without what divides between them, and into
  // how many parts those who go on have divided the vector: what the next level takes depends on these alone.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> stopped;
  std::uint32_t parts = 1;
};

Split with_level(const Split& split, std::uint32_t stride, const PlanLevel& level, double seconds) {
  Split longer = split;
  longer.levels.push_back(level);
  longer.seconds += seconds;
  if (level.divides()) longer.parts *= level.size;
  if (level.way != LevelWay::kTree) return longer;
  if (!longer.stopped.empty() && longer.stopped.back().first * longer.stopped.back().second == stride) {
    longer.stopped.back().second *= level.size;
  } else {
    longer.stopped.emplace_back(stride, level.size);
  }
  return longer;
}

// Levels of unequal groups, and those below them.
PlanLevels unequal_prefix(PlanLevels levels) {
  while (!levels.empty() && levels.back().sizes.empty()) levels.pop_back();
  return levels;
}

// The fastest splits of the first `stride` ranks, or of so many groups of unequal levels, by stride. What a
// level takes depends on who is left of the ranks below it, on their blocks and on its own size and way, so
// the fastest continue the fastest of these.
class Splits {
 public:
  // All splits begin with `prefix`, if that is not empty.
  Splits(const Topology& topology, const Demand& demand, const Layout& layout, const PlanLevels& prefix,
         std::size_t count, const Handling& handling)
      : demand_(demand),
        handling_(handling),
        root_(is_rooted(demand.operation) ? demand.root : 0),
        units_(demand.ranks),
        costs_(topology, layout, handling),
        count_(count) {
    if (prefix.empty()) {
      by_stride_[1].push_back({});
    } else {
      units_ = static_cast<std::uint32_t>(prefix.back().sizes.size());
      for (const LevelWay way : {LevelWay::kRing, LevelWay::kTree, LevelWay::kHalving}) {
        if (is_allowed(PlanLevel(prefix.front().size, way))) by_stride_[1].push_back(begin_with(prefix, way));
      }
    }
  }

  std::vector<Split> all() {
    for (std::uint32_t stride = 1; stride < units_; ++stride) {
      if (units_ % stride == 0) extend(stride);
    }
    auto& splits = by_stride_[units_];
    sort(splits);
    if (splits.size() > count_) splits.resize(count_);
    return splits;
  }

 private:
  // The fastest first, without those that take as long as another that divides as much: 2x2 and 4h.
  static void sort(std::vector<Split>& splits) {
    std::stable_sort(splits.begin(), splits.end(),
                     [](const Split& a, const Split& b) { return a.seconds < b.seconds; });
    const auto as_good = [](const Split& a, const Split& b) {
      return a.parts == b.parts && b.seconds <= a.seconds * (1 + 1e-9);
    };
    splits.erase(std::unique(splits.begin(), splits.end(), as_good), splits.end());
  }

  void extend(std::uint32_t stride) {
    keep_fastest(by_stride_[stride]);
    for (const Split& split : by_stride_[stride]) {
      for (std::uint32_t size = 2; size <= units_ / stride; ++size) {
        if (units_ / stride % size != 0) continue;
        for (const LevelWay way :
             {LevelWay::kRing, LevelWay::kTree, LevelWay::kHalving, LevelWay::kDoubling}) {
          const bool flat = size == demand_.ranks;  // A route of its own, but for parts of a root's vector.
          if (flat && !(is_rooted(demand_.operation) && PlanLevel(size, way).divides())) continue;
          if (!is_tried(split, stride, {size, way})) continue;
          const double each = seconds_of(split, stride, {size, way});
          by_stride_[stride * size].push_back(with_level(split, stride, {size, way}, each));
        }
      }
    }
  }

  // Among many ranks not all ways at all levels, each of which is a walk over all of them: trees below the
  // levels of rings, and at last whatever there is.
  bool is_tried(const Split& split, std::uint32_t stride, const PlanLevel& level) const {
    const bool few = demand_.ranks <= kAllWaysRanksMax, last = stride * level.size == units_;
    if (!is_allowed(level)) return false;
    switch (level.way) {
      case LevelWay::kRing:
        return true;
      case LevelWay::kTree:
        return few || last || split.parts == 1;
      case LevelWay::kHalving:  // Two halve as a ring does.
        return level.size > 2 && (few || (last && std::has_single_bit(level.size)));
      case LevelWay::kDoubling:
        return last && (few || std::has_single_bit(level.size));
    }
    return false;
  }

  bool is_allowed(const PlanLevel& level) const {
    Plan alone;
    alone.route = &routes::kHierarchical;
    alone.levels = {level};
    return alone.route->check(alone, demand_.operation, demand_.ranks).ok();
  }

  Split begin_with(const PlanLevels& prefix, LevelWay way) {
    Split split;
    for (PlanLevel level : prefix) {
      level.way = way;
      split.levels.push_back(std::move(level));
      const Hierarchy hierarchy(split.levels, root_);
      split.seconds += last_level_seconds(hierarchy, static_cast<double>(demand_.bytes) / split.parts);
      if (split.levels.back().divides()) split.parts *= split.levels.back().size;
    }
    if (way == LevelWay::kTree) split.stopped.emplace_back(0, 1);
    return split;
  }

  double seconds_of(const Split& split, std::uint32_t stride, const PlanLevel& level) {
    const auto key = std::make_tuple(split.stopped, stride, level.size, level.way);
    const auto [known, is_new] = known_.try_emplace(key, 0);
    if (!is_new) return known->second;
    PlanLevels levels = split.levels;
    levels.push_back(level);
    const Hierarchy hierarchy(levels, root_);
    const double block = static_cast<double>(demand_.bytes) / split.parts;
    known->second = last_level_seconds(hierarchy, block);
    return known->second;
  }

  // As predicted_seconds() has it of an all-reduce, or twice that of a half.
  double last_level_seconds(const Hierarchy& hierarchy, double block) {
    const PlanLevel& level = hierarchy.level(hierarchy.depth() - 1);
    const double adds = demand_.operation == Operation::kAllReduce ? 1 : combines(demand_.operation) ? 2 : 0;
    return level_seconds(costs_, demand_, hierarchy, hierarchy.depth() - 1, block) +
           handling_.fetch_seconds_per_byte * level_fetched_bytes(level, block, handling_.cache_bytes) +
           adds * handling_.add_seconds_per_byte * level_added_bytes(level, block);
  }

  // Of those with as many parts.
  void keep_fastest(std::vector<Split>& splits) const {
    sort(splits);
    std::map<std::uint32_t, std::size_t> kept;
    std::erase_if(splits, [&](const Split& split) { return ++kept[split.parts] > count_; });
  }

  const Demand& demand_;
  const Handling& handling_;
  const std::uint32_t root_;
  std::uint32_t units_;  // That are split.
  RoundCosts costs_;
  std::size_t count_;
  std::map<std::uint32_t, std::vector<Split>> by_stride_;
  std::map<std::tuple<std::vector<std::pair<std::uint32_t, std::uint32_t>>, std::uint32_t, std::uint32_t,
                      LevelWay>,
           double>
      known_;
};

}  // namespace

std::vector<std::string> fastest_hierarchies(const Topology& topology, const Demand& demand,
                                             std::size_t count, const Handling& handling) {
  Demand whole = demand;
  whole.pipelined = false;
  const auto layout = lay_out(topology, whole, routes::kHierarchical.name);
  if (!layout.ok() || demand.ranks > kSplitRanksMax) return {};
  std::vector<Split> splits = Splits(topology, whole, *layout, {}, count, handling).all();
  const PlanLevels prefix = unequal_prefix(layout->plan.levels);
  if (!prefix.empty()) {
    for (Split& split : Splits(topology, whole, *layout, prefix, count, handling).all())
      splits.push_back(std::move(split));
    std::stable_sort(splits.begin(), splits.end(),
                     [](const Split& a, const Split& b) { return a.seconds < b.seconds; });
  }
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(count, splits.size()); ++i)
    names.push_back(std::string(routes::kHierarchical.name) + ":" + levels_text(splits[i].levels));
  return names;
}

}  // namespace thalweg
