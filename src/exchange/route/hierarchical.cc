// Hierarchical: reduce-scatter inside a machine, all-reduce of each part among the machines' ranks that own
// it, all-gather inside; the same again for racks of machines, sites of racks. Each level is a ring, or goes
// by halving-doubling; or by a binomial tree, up which the vector stays whole, so that one member goes on for
// all. Slices of the vector are lanes of their own, so that levels work at the same time.
// Bytes per rank of g in a machine, rings: 2(g-1)S/g inside, 2(M-1)S/(gM) between M machines.
// Time, two levels of rings: 2(g-1)(l + S/(g b)) + 2(M-1)(L + S/(gM B)); a tree takes 2 log2(g)(l + S/b).
// M. Cho, U. Finkler, D. Kung, H. Hunter, "BlueConnect: decomposing all-reduce for deep learning on
// heterogeneous network hierarchy", SysML 2019. N. T. Karonis, B. R. de Supinski, I. Foster, W. Gropp, E.
// Lusk, J. Bresnahan, "Exploiting hierarchy in parallel computer networks to optimize collective operation
// performance", IPDPS 2000.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "exchange/levels/hierarchy.h"
#include "exchange/levels/level_lanes.h"
#include "exchange/levels/level_seconds.h"
#include "exchange/route/formulas.h"
#include "exchange/route/lanes.h"
#include "exchange/route/route.h"

namespace thalweg {
namespace {

// One rank at one level that it has passed on the way up.
struct Climbed {
  const PlanLevel& level;
  Team team;
  TeamOrder order{};                   // That `team` refers to.
  std::vector<std::uint64_t> parts{};  // Of a block that so many divide as every group has members.
  Block block{};
};

// The parts of a block among the members of a team, of which some own nothing.
std::vector<std::uint64_t> parts_of_owners(Block block, std::uint32_t owners, std::uint32_t members) {
  std::vector<std::uint64_t> parts;
  for (std::uint32_t i = 0; i <= members; ++i)
    parts.push_back(i < owners ? part_of(block, owners, i).begin : block.end());
  return parts;
}

// `levels` outlive the lane.
Lane hierarchical_lane(const PlanLevels& levels, std::uint32_t rank, Work work) {
  const Hierarchy hierarchy(levels);
  std::vector<Climbed> done;
  Work level = work;
  level.parts = nullptr;
  level.by_rank = false;
  level.finishes = false;
  level.root = Hierarchy::kLeader;
  level.whole = work.all();
  level.slice_begin = 0;
  level.slice_end = 1;
  bool goes_on = true;
  for (std::size_t i = 0; goes_on && i + 1 < levels.size(); ++i) {
    Climbed at{levels[i], {}};
    at.team = hierarchy.team(rank, i, at.order);
    if (at.team.size == 1) continue;
    at.block = level.whole;
    const bool some_own_none = at.level.divides() && !at.level.sizes.empty();
    if (some_own_none) at.parts = parts_of_owners(at.block, at.level.size, at.team.size);
    done.push_back(std::move(at));
    const Climbed& now = done.back();
    level.parts = some_own_none ? now.parts.data() : nullptr;
    level.operation = climb(now.level);
    for (Lane lane = level_lane(now.level.way, now.team, level); lane.next();) co_yield lane.step();
    goes_on = hierarchy.goes_on(rank, i);
    if (goes_on && now.level.divides()) level.whole = part_of(now.block, now.level.size, now.team.me);
    level.in = Buffer::kWork;
    level.in_place = true;
  }
  level.parts = nullptr;
  if (goes_on) {
    TeamOrder order;
    const Team top = hierarchy.team(rank, levels.size() - 1, order);
    level.operation = Operation::kAllReduce;
    level.finishes = work.finishes;
    if (top.size > 1) {
      for (Lane lane = level_lane(levels.back().way, top, level); lane.next();) co_yield lane.step();
    } else {
      if (level.in != Buffer::kWork) co_yield copy(level.whole, level.in);
      if (work.finishes) co_yield finish(level.whole);
    }
  }
  level.in = Buffer::kWork;
  for (; !done.empty(); done.pop_back()) {
    const Climbed& back = done.back();
    level.operation = descend(back.level);
    level.whole = back.block;
    level.parts = back.parts.empty() ? nullptr : back.parts.data();
    for (Lane lane = level_lane(back.level.way, back.team, level); lane.next();) co_yield lane.step();
  }
}

void add_hierarchical(const Work& work, LaneMaker& to) {
  to.add(hierarchical_lane(to.plan.levels, to.all.me, work));
}

// How many consecutive groups, of which `first` are the first ranks, share each place, in order. Empty where
// a place divides a group, or nothing is known.
std::vector<std::uint32_t> groups_by_place(const Topology& topology, Level level,
                                           const std::vector<std::uint32_t>& first, std::uint32_t ranks) {
  std::vector<std::uint32_t> sizes;
  std::size_t group = 0;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    const std::uint32_t place = topology.place(level, rank);
    if (place == kNowhere) return {};
    const bool begins_group = group < first.size() && first[group] == rank;
    if (rank == 0 || place != topology.place(level, rank - 1)) {
      if (!begins_group) return {};
      sizes.push_back(0);
    }
    if (!begins_group) continue;
    ++group;
    ++sizes.back();
  }
  return sizes;
}

// Ranks per machine, machines per rack and so on. Where places say nothing, the two factors nearest each
// other.
PlanLevels levels_of(const Topology& topology, std::uint32_t ranks) {
  PlanLevels levels;
  std::vector<std::uint32_t> first(ranks);  // Of each group so far.
  std::iota(first.begin(), first.end(), 0U);
  for (const Level level : {Level::kMachine, Level::kRack, Level::kSite}) {
    std::vector<std::uint32_t> sizes = groups_by_place(topology, level, first, ranks);
    if (sizes.size() <= 1 || sizes.size() == first.size()) continue;
    std::vector<std::uint32_t> firsts;
    std::uint32_t begin = 0;
    for (const std::uint32_t size : sizes) {
      firsts.push_back(first[begin]);
      begin += size;
    }
    first = std::move(firsts);
    levels.push_back(PlanLevel::of(std::move(sizes)));
  }
  auto groups = static_cast<std::uint32_t>(first.size());
  if (levels.empty()) {
    auto factor = static_cast<std::uint32_t>(std::sqrt(static_cast<double>(ranks)));
    while (factor > 1 && ranks % factor != 0) --factor;
    if (factor > 1) levels.emplace_back(factor);
    groups /= std::max(factor, 1U);
  }
  levels.emplace_back(groups);
  return levels;
}

Status lay_out_hierarchical(const Topology& topology, const Demand& demand, Layout& layout) {
  if (layout.plan.levels.empty()) layout.plan.levels = levels_of(topology, demand.ranks);
  return ok_status();
}

constexpr std::uint32_t kSlices = 4;
constexpr std::uint64_t kSliceBytes = 64 << 10;  // Of each rank's part, at least.

void cut_hierarchical(const Demand& demand, Layout& layout) {
  const double part = static_cast<double>(demand.bytes) / layout.size();
  if (layout.plan.levels.size() > 1 && part >= kSlices * kSliceBytes) layout.plan.channels = kSlices;
}

// Slices follow each other through the levels.
double hierarchical_seconds(RoundCosts& costs, const Demand& demand, const Layout& layout) {
  const double slices = layout.plan.channels, bytes = static_cast<double>(demand.bytes) / slices;
  const Hierarchy hierarchy(layout.plan.levels);
  double seconds = 0, slowest = 0;
  for (std::size_t i = 0; i < hierarchy.depth(); ++i) {
    const double each = level_seconds(costs, hierarchy, i, demand.ranks, bytes * hierarchy.share(i));
    seconds += each;
    slowest = std::max(slowest, each);
  }
  return seconds + (slices - 1) * slowest;
}

// Calls of(level, block) with each level and what a rank has left of so much below it.
template <class Of>
double sum_over_levels(const Layout& layout, double all, const Of& of) {
  const Hierarchy hierarchy(layout.plan.levels);
  double sum = 0;
  for (std::size_t i = 0; i < hierarchy.depth(); ++i) sum += of(hierarchy, i, all * hierarchy.share(i));
  return sum;
}

double hierarchical_added_bytes(const Demand& demand, const Layout& layout) {
  return sum_over_levels(layout, static_cast<double>(demand.bytes),
                         [](const Hierarchy& hierarchy, std::size_t i, double block) {
                           return level_added_bytes(hierarchy.level(i), block);
                         });
}

double hierarchical_fetched_bytes(const Demand& demand, const Layout& layout, double cache_bytes) {
  return sum_over_levels(layout, static_cast<double>(demand.bytes),
                         [cache_bytes](const Hierarchy& hierarchy, std::size_t i, double block) {
                           return level_fetched_bytes(hierarchy.level(i), block, cache_bytes);
                         });
}

double hierarchical_messages(const Demand& demand, const Layout& layout) {
  return sum_over_levels(layout, static_cast<double>(demand.elements()),
                         [&layout](const Hierarchy& hierarchy, std::size_t i, double block) {
                           return level_messages(layout, hierarchy, i, block);
                         });
}

}  // namespace

constinit const Route routes::kHierarchical{
    .name = "hierarchical",
    .summary = "inside machines, between them, back",
    .shape = RouteShape::kByLevels,
    .add_lanes = add_hierarchical,
    .tried = {"hierarchical"},
    .lay_out = lay_out_hierarchical,
    .cut = cut_hierarchical,
    .seconds = hierarchical_seconds,
    .added_bytes = hierarchical_added_bytes,
    .fetched_bytes = hierarchical_fetched_bytes,
    .messages = hierarchical_messages,
};

}  // namespace thalweg
