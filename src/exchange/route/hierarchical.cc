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

// One rank at one level.
struct Stage {
  std::size_t number = 0;
  Team team{};
  TeamOrder order{};  // That `team` refers to.
  Block block{};
  std::vector<std::uint64_t> parts{};  // Of a block that so many divide as every group has members.
};

Stage stage_of(const Hierarchy& hierarchy, std::uint32_t rank, std::size_t number, Block block) {
  Stage made;
  made.number = number;
  made.team = hierarchy.team(rank, number, made.order);
  made.block = block;
  const PlanLevel& level = hierarchy.level(number);
  if (level.sizes.empty() || !level.divides()) return made;
  for (std::uint32_t i = 0; i <= made.team.size; ++i)
    made.parts.push_back(i < level.size ? part_of(block, level.size, i).begin : block.end());
  return made;
}

// What of `work` the rank does there, in one of its phases. `stage` outlives the lane.
Lane stage_lane(const Hierarchy& hierarchy, std::uint32_t rank, LevelPhase phase, const Stage& stage,
                Operation operation, Work work) {
  work.operation = operation;
  work.finishes = work.finishes && phase == LevelPhase::kOutermost;
  work.parts = stage.parts.empty() ? nullptr : stage.parts.data();
  work.by_rank = 0;
  work.whole = stage.block;
  work.root = hierarchy.leader(rank, stage.number);
  return level_lane(hierarchy.level(stage.number).way, stage.team, work);
}

bool all_are_trees(const PlanLevels& levels) {
  return std::all_of(levels.begin(), levels.end(),
                     [](const PlanLevel& level) { return level.way == LevelWay::kTree; });
}

// In the tree that trees of all levels make up.
TreePlace place_in(const Hierarchy& hierarchy, std::uint32_t rank) {
  TreePlace place;
  for (std::size_t i = 0; i < hierarchy.depth() && place.is_root(); ++i) {
    TeamOrder order;
    TreePlace at = place_among(hierarchy.team(rank, i, order), hierarchy.leader(rank, i));
    place.parent = at.parent;
    place.children.insert(place.children.end(), at.children.begin(), at.children.end());
  }
  return place;
}

// All-reduce, reduce or broadcast. `levels` outlive the lane.
Lane hierarchical_lane(const PlanLevels& levels, std::uint32_t rank, Work work) {
  const Hierarchy hierarchy(levels, is_rooted(work.operation) ? work.root : 0);
  const auto what = [&, whole = work.operation](LevelPhase phase, std::size_t at) {
    return level_operation(whole, phase, levels[at], hierarchy.is_with_root(rank, at));
  };
  std::vector<Stage> done;
  Work level = work;
  level.slice_begin = 0;
  level.slice_end = 1;
  Block block = work.all();
  bool goes_on = true;
  for (std::size_t i = 0; goes_on && i + 1 < levels.size(); ++i) {
    Stage stage = stage_of(hierarchy, rank, i, block);
    if (stage.team.size == 1) continue;
    done.push_back(std::move(stage));
    const Stage& now = done.back();
    if (const auto operation = what(LevelPhase::kThere, i)) {
      for (Lane lane = stage_lane(hierarchy, rank, LevelPhase::kThere, now, *operation, level); lane.next();)
        co_yield lane.step();
      level.in = Buffer::kWork;
      level.in_place = true;
    }
    goes_on = hierarchy.goes_on(rank, i);
    if (goes_on && levels[i].divides()) block = part_of(now.block, levels[i].size, now.team.me);
  }
  if (goes_on) {
    const Stage top = stage_of(hierarchy, rank, levels.size() - 1, block);
    if (top.team.size > 1) {
      for (Lane lane = stage_lane(hierarchy, rank, LevelPhase::kOutermost, top, work.operation, level);
           lane.next();)
        co_yield lane.step();
    } else {
      if (level.in != Buffer::kWork) co_yield copy(block, level.in);
      if (work.finishes) co_yield finish(block);
    }
  }
  level.in = Buffer::kWork;
  for (; !done.empty(); done.pop_back()) {
    const auto operation = what(LevelPhase::kBack, done.back().number);
    if (!operation) continue;
    for (Lane lane = stage_lane(hierarchy, rank, LevelPhase::kBack, done.back(), *operation, level);
         lane.next();)
      co_yield lane.step();
  }
}

// Reduce-scatter, from the innermost level on, or all-gather, from the outermost: at each level of those
// parts alone that belong to ranks below. `levels` outlive the lane.
Lane hierarchical_parts_lane(const PlanLevels& levels, std::uint32_t rank, Work work) {
  const bool scatters = work.operation == Operation::kReduceScatter;
  const Hierarchy hierarchy(levels);
  Work level = work;
  for (std::size_t n = 0; n < levels.size(); ++n) {
    const std::size_t at = scatters ? n : levels.size() - 1 - n;
    TeamOrder order;
    const Team team = hierarchy.team(rank, at, order);
    if (team.size == 1) continue;
    level.every = team.stride * team.size;
    level.finishes = work.finishes && level.every == work.by_rank;
    for (Lane lane = level_lane(levels[at].way, team, level); lane.next();) co_yield lane.step();
    level.in = Buffer::kWork;
  }
}

// Where groups differ, one member of each goes on with the parts of several ranks. Its fellows who do not go
// on get theirs at the end of a reduce-scatter, or hand them in at the beginning of an all-gather.
Lane handing_lane(const Hierarchy& hierarchy, std::uint32_t rank, std::size_t level, Work work) {
  const bool gives = work.operation == Operation::kReduceScatter;
  const std::uint32_t going_on = hierarchy.level(level).size, me = hierarchy.index(rank, level);
  TeamOrder order;
  const Team team = hierarchy.team(rank, level, order);
  PartLists lists(team.size);
  for (std::uint32_t member = going_on; member < team.size; ++member) {
    if (me != member && me != member % going_on) continue;
    lists[member] = hierarchy.parts_below(rank, level, member);
    work.lists = &lists;
    const std::uint32_t peer = team.rank(me == member ? member % going_on : member);
    for (PartPieces pieces(work, team, member); pieces.next();) {
      if (gives == (me == member)) {
        co_yield receive(peer, pieces.piece());
      } else {
        co_yield send(peer, pieces.piece());
      }
    }
  }
}

// As hierarchical_parts_lane(), of levels whose groups differ.
Lane unequal_parts_lane(const PlanLevels& levels, std::uint32_t rank, Work work) {
  const bool scatters = work.operation == Operation::kReduceScatter;
  const Hierarchy hierarchy(levels);
  std::size_t last = levels.size();  // Behind which nobody meets.
  while (last > 1 && levels[last - 1].largest() == 1) --last;
  Work level = work;
  if (!scatters && work.in != Buffer::kWork) co_yield copy(work.part_at({}, rank), work.in);
  if (!scatters) level.in = Buffer::kWork;
  for (std::size_t at = 0; !scatters && at + 1 < last && hierarchy.takes_part(rank, at); ++at) {
    for (Lane lane = handing_lane(hierarchy, rank, at, level); lane.next();) co_yield lane.step();
  }
  for (std::size_t n = 0; n < last; ++n) {
    const std::size_t at = scatters ? n : last - 1 - n;
    if (!hierarchy.takes_part(rank, at)) continue;
    TeamOrder order;
    const Team team = hierarchy.team(rank, at, order);
    if (team.size == 1) continue;
    const PartLists lists = hierarchy.parts_by_member(rank, at);
    level.lists = &lists;
    level.finishes = work.finishes && at + 1 == last;
    for (Lane lane = level_lane(levels[at].way, team, level); lane.next();) co_yield lane.step();
    level.in = Buffer::kWork;
  }
  for (std::size_t at = last; scatters && at-- > 0;) {
    if (at + 1 == last || !hierarchy.takes_part(rank, at)) continue;
    for (Lane lane = handing_lane(hierarchy, rank, at, level); lane.next();) co_yield lane.step();
  }
}

bool are_equal(const PlanLevels& levels) {
  return std::all_of(levels.begin(), levels.end(),
                     [](const PlanLevel& level) { return level.sizes.empty(); });
}

void add_hierarchical(const Work& work, LaneMaker& to) {
  const PlanLevels& levels = to.plan.levels;
  const std::uint32_t me = to.all.me;
  if (gives_parts(work.operation) && are_equal(levels))
    return to.add(hierarchical_parts_lane(levels, me, work));
  if (gives_parts(work.operation)) return to.add(unequal_parts_lane(levels, me, work));
  if (is_rooted(work.operation) && all_are_trees(levels))
    return add_tree(work, place_in(Hierarchy(levels, work.root), me), to);
  to.add(hierarchical_lane(levels, me, work));
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

// Of the ranks, two levels as near each other as may be.
PlanLevels nearest_factors(std::uint32_t ranks) {
  auto factor = static_cast<std::uint32_t>(std::sqrt(static_cast<double>(ranks)));
  while (factor > 1 && ranks % factor != 0) --factor;
  return factor > 1 ? PlanLevels{factor, ranks / factor} : PlanLevels{ranks};
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
  if (levels.empty()) return nearest_factors(ranks);
  levels.emplace_back(static_cast<std::uint32_t>(first.size()));
  return levels;
}

Status lay_out_hierarchical(const Topology& topology, const Demand& demand, Layout& layout) {
  if (!layout.plan.levels.empty()) return ok_status();
  layout.plan.levels = levels_of(topology, demand.ranks);
  return ok_status();
}

Status check_hierarchical(const Plan& plan, Operation operation, std::uint32_t) {
  const bool by_parts = gives_parts(operation);
  for (const PlanLevel& level : plan.levels) {
    if (by_parts && !level.divides()) {
      return refuse_route(plan.name(), std::string(operation_name(operation)) +
                                           " leaves each rank a part of its own; expected levels by r or h");
    }
    if (level.way == LevelWay::kDoubling && is_rooted(operation)) {
      return refuse_route(plan.name(), std::string(operation_name(operation)) +
                                           " has no use for d, recursive doubling; expected r, t or h");
    }
  }
  return ok_status();
}

constexpr std::uint32_t kSlices = 4;
constexpr std::uint64_t kSliceBytes = 64 << 10;  // Of each rank's part, at least.

void cut_hierarchical(const Demand& demand, Layout& layout) {
  if (all_are_trees(layout.plan.levels) && is_rooted(demand.operation)) {
    std::uint32_t depth = 0;
    for (const PlanLevel& level : layout.plan.levels) depth += log2_depth(level.largest());
    return cut_by_depth(demand, layout, depth);
  }
  const double part = static_cast<double>(demand.bytes) / layout.size();
  if (layout.plan.levels.size() > 1 && part >= kSlices * kSliceBytes) layout.plan.channels = kSlices;
}

// Slices follow each other through the levels.
double hierarchical_seconds(RoundCosts& costs, const Demand& demand, const Layout& layout) {
  const PlanLevels& levels = layout.plan.levels;
  const Hierarchy hierarchy(levels, is_rooted(demand.operation) ? demand.root : 0);
  if (all_are_trees(levels) && is_rooted(demand.operation)) {
    const auto place = [&hierarchy](std::uint32_t rank) { return place_in(hierarchy, rank); };
    return tree_seconds(costs, demand, layout, {tree_of(demand.ranks, place)});
  }
  const double slices = layout.plan.channels, bytes = static_cast<double>(demand.bytes) / slices;
  double seconds = 0, slowest = 0;
  for (std::size_t i = 0; i < levels.size(); ++i) {
    const double each = level_seconds(costs, demand, hierarchy, i, bytes * hierarchy.share(i));
    seconds += each;
    slowest = std::max(slowest, each);
  }
  return seconds + (slices - 1) * slowest;
}

// Calls of(hierarchy, level, block) with each level and what a rank has left of so much below it.
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
                         [&](const Hierarchy& hierarchy, std::size_t i, double block) {
                           return level_messages(demand, layout, hierarchy, i, block);
                         });
}

}  // namespace

constinit const Route routes::kHierarchical{
    .name = "hierarchical",
    .summary = "inside machines, between them, back",
    .shape = RouteShape::kByLevels,
    .supports = {Operation::kReduceScatter, Operation::kAllGather, Operation::kReduce, Operation::kBroadcast},
    .root_receives = true,
    .makes_lists = true,
    .check = check_hierarchical,
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
