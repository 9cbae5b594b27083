// Hierarchical: reduce-scatter inside a machine, all-reduce of each part among the machines' ranks that own
// it, all-gather inside; the same again for racks of machines, sites of racks, each level a ring. Slices of
// the vector are lanes of their own, so that levels work at the same time.
// Bytes per rank of g in a machine: 2(g-1)S/g inside, 2(M-1)S/(gM) between M machines.
// Time, two levels: 2(g-1)(l + S/(g b)) + 2(M-1)(L + S/(gM B)).
// M. Cho, U. Finkler, D. Kung, H. Hunter, "BlueConnect: decomposing all-reduce for deep learning on
// heterogeneous network hierarchy", SysML 2019.
#include <vector>

#include "exchange/route/lanes.h"

namespace thalweg {

Lane hierarchical_lane(const std::vector<std::uint32_t>& levels, std::uint32_t rank, Work work) {
  struct Level {
    Team team;
    Block block;
  };
  std::vector<Level> done;
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

}  // namespace thalweg
