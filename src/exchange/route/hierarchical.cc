// Hierarchical: reduce-scatter inside a machine, all-reduce of each part among the machines' ranks that own
// it, all-gather inside; the same again for racks of machines, sites of racks, each level a ring. Slices of
// the vector are lanes of their own, so that levels work at the same time.
// Bytes per rank of g in a machine: 2(g-1)S/g inside, 2(M-1)S/(gM) between M machines.
// Time, two levels: 2(g-1)(l + S/(g b)) + 2(M-1)(L + S/(gM B)).
// M. Cho, U. Finkler, D. Kung, H. Hunter, "BlueConnect: decomposing all-reduce for deep learning on
// heterogeneous network hierarchy", SysML 2019.
#include <algorithm>
#include <cmath>
#include <vector>

#include "exchange/route/formulas.h"
#include "exchange/route/lanes.h"
#include "exchange/route/route.h"

namespace thalweg {
namespace {

// `levels` outlive the lane.
Lane hierarchical_lane(const std::vector<std::uint32_t>& levels, std::uint32_t rank, Work work) {
  struct Scattered {
    Team team;
    Block block;
  };
  std::vector<Scattered> done;
  Work level = work;
  level.parts = nullptr;
  level.by_rank = false;
  level.finishes = false;
  level.whole = work.all();
  level.slice_begin = 0;
  level.slice_end = 1;
  std::uint32_t stride = 1;
  for (std::size_t i = 0; i + 1 < levels.size(); ++i) {
    const std::uint32_t me = rank / stride % levels[i];
    const Team team{levels[i], me, rank - me * stride, stride, nullptr};
    stride *= levels[i];
    if (team.size == 1) continue;
    level.operation = Operation::kReduceScatter;
    for (Lane lane = ring_lane(team, level); lane.next();) co_yield lane.step();
    done.push_back({team, level.whole});
    level.whole = part_of(level.whole, team.size, me);
    level.in = Buffer::kWork;
    level.in_place = true;
  }
  const std::uint32_t me = rank / stride;
  const Team top{levels.back(), me, rank - me * stride, stride, nullptr};
  level.operation = Operation::kAllReduce;
  level.finishes = work.finishes;
  if (top.size > 1) {
    for (Lane lane = ring_lane(top, level); lane.next();) co_yield lane.step();
  } else {
    if (level.in != Buffer::kWork) co_yield copy(level.whole, level.in);
    if (work.finishes) co_yield finish(level.whole);
  }
  for (; !done.empty(); done.pop_back()) {
    level.operation = Operation::kAllGather;
    level.whole = done.back().block;
    for (Lane lane = ring_lane(done.back().team, level); lane.next();) co_yield lane.step();
  }
}

void add_hierarchical(const Work& work, LaneMaker& to) {
  to.add(hierarchical_lane(to.plan.levels, to.all.me, work));
}

// How many consecutive groups of `before` ranks share a place; 0 unless all groups of equals are equally
// large.
std::uint32_t even_run(const Topology& topology, Level level, std::uint32_t ranks, std::uint32_t before) {
  std::uint32_t run = 0;
  for (std::uint32_t begin = 0; begin < ranks;) {
    std::uint32_t end = begin;
    const std::uint32_t place = topology.place(level, begin);
    if (place == kNowhere) return 0;
    while (end < ranks && topology.place(level, end) == place) ++end;
    if (run == 0) run = end - begin;
    if (end - begin != run) return 0;
    begin = end;
  }
  return run % before == 0 ? run / before : 0;
}

// Ranks per machine, machines per rack and so on. Where places say nothing, the two factors nearest each
// other.
std::vector<std::uint32_t> levels_of(const Topology& topology, std::uint32_t ranks) {
  std::vector<std::uint32_t> levels;
  std::uint32_t grouped = 1;
  for (const Level level : {Level::kMachine, Level::kRack, Level::kSite}) {
    const std::uint32_t run = even_run(topology, level, ranks, grouped);
    if (run <= 1 || grouped * run == ranks) continue;
    levels.push_back(run);
    grouped *= run;
  }
  if (grouped == 1) {
    auto factor = static_cast<std::uint32_t>(std::sqrt(static_cast<double>(ranks)));
    while (factor > 1 && ranks % factor != 0) --factor;
    if (factor > 1) levels.push_back(factor);
    grouped = std::max(factor, 1U);
  }
  levels.push_back(ranks / grouped);
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
  double seconds = 0, slowest = 0;
  std::uint32_t stride = 1;
  for (const std::uint32_t level : layout.plan.levels) {
    const double each = level_seconds(costs, demand.ranks, stride, level, bytes);
    seconds += each;
    slowest = std::max(slowest, each);
    stride *= level;
  }
  return seconds + (slices - 1) * slowest;
}

double hierarchical_fetched_bytes(const Demand& demand, const Layout& layout, double cache_bytes) {
  double sum = 0, block = static_cast<double>(demand.bytes);
  for (const std::uint32_t level : layout.plan.levels) sum += bytes_beyond(cache_bytes, block /= level);
  return sum;
}

double hierarchical_messages(const Demand& demand, const Layout& layout) {
  double messages = 0, block = static_cast<double>(demand.elements());
  for (const std::uint32_t level : layout.plan.levels)
    messages += 2.0 * layout.size() * (level - 1) * pieces_of(layout, block /= level);
  return messages;
}

}  // namespace

double level_seconds(RoundCosts& costs, std::uint32_t ranks, std::uint32_t stride, std::uint32_t level,
                     double bytes) {
  if (level <= 1) return 0;
  const double part = bytes / stride / level;
  Round round;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    const std::uint32_t place = rank / stride % level;
    round.push_back({rank, rank - place * stride + (place + 1) % level * stride, part});
  }
  return 2.0 * (level - 1) * costs.of(round).whole();
}

constinit const Route routes::kHierarchical{
    .name = "hierarchical",
    .summary = "inside machines, between them, back",
    .shape = RouteShape::kByLevels,
    .add_lanes = add_hierarchical,
    .tried = {"hierarchical"},
    .lay_out = lay_out_hierarchical,
    .cut = cut_hierarchical,
    .seconds = hierarchical_seconds,
    .fetched_bytes = hierarchical_fetched_bytes,
    .messages = hierarchical_messages,
};

}  // namespace thalweg
