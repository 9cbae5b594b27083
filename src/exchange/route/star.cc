// Star ("one device owns all"): all to one rank and back, a tree of depth 1 whose root has N-1 children;
// lanes as in tree_lanes.cc. Time, whole: 2(N-1)(L + S/B).
#include "exchange/route/formulas.h"
#include "exchange/route/lanes.h"
#include "exchange/route/route.h"

namespace thalweg {
namespace {

void add_star(const Work& work, LaneMaker& to) {
  add_rooted(work, star_place(to.all.me, to.all.size, root_of(work)), false, to);
}

double star_seconds(RoundCosts& costs, const Demand& demand, const Layout& layout) {
  const std::uint32_t n = layout.size();
  const auto place = [&](std::uint32_t rank) { return star_place(rank, n, demand.root); };
  return tree_seconds(costs, demand, layout, {tree_of(n, place)});
}

double star_added_bytes(const Demand& demand, const Layout&) {
  return static_cast<double>(demand.bytes) * (static_cast<double>(demand.ranks) - 1);
}

}  // namespace

constinit const Route routes::kStar{
    .name = "star",
    .former = "gpu0",
    .summary = "all to one rank and back",
    .supports = {Operation::kReduce, Operation::kBroadcast, Operation::kGather, Operation::kScatter},
    .keeps_order = {Operation::kAllReduce, Operation::kReduce},
    .touches_own_part_only = {Operation::kScatter},
    .makes_lists = true,
    .add_lanes = add_star,
    .lanes = 2,
    .tried = {"star"},
    .cut = [](const Demand& demand, Layout& layout) { cut_by_depth(demand, layout, 1); },
    .seconds = star_seconds,
    .added_bytes = star_added_bytes,
};

}  // namespace thalweg
