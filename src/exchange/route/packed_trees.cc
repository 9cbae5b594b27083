// Packed trees: spanning trees packed into the direct cables between ranks (topology/packing.h), bytes split
// by their weights; lanes as in tree_lanes.cc. G. Wang et al., "Blink: fast and generic collectives for
// distributed ML", MLSys 2020, section 3.
#include <algorithm>

#include "exchange/route/formulas.h"
#include "exchange/route/lanes.h"
#include "exchange/route/route.h"
#include "topology/packing.h"

namespace thalweg {
namespace {

constexpr double kTreeWeightLost = 0.01;

void add_packed_trees(const Work& work, LaneMaker& to) {
  add_weighted(to.plan.trees, work, [&to](const Tree& tree, const Work& slice) {
    add_tree(slice, place_in(tree, to.all.me), to);
  });
}

Status lay_out_packed_trees(const Topology& topology, const Demand& demand, Layout& layout) {
  if (demand.ranks <= 1) return ok_status();
  const auto edges = edges_among(topology, demand.ranks);
  if (edges.empty())
    return refuse_route(layout.route, "topology " + topology.name() + " has no direct cables between ranks");
  const auto packing = pack_trees(demand.ranks, edges, kTreeWeightLost);
  if (!packing.ok()) return packing.status();
  for (const PackedTree& tree : packing->trees)
    layout.plan.trees.push_back({tree.root, tree.parent, tree.weight});
  return ok_status();
}

double total_weight(const std::vector<Tree>& trees) {
  double sum = 0;
  for (const Tree& tree : trees) sum += tree.weight;
  return sum;
}

void cut_packed_trees(const Demand& demand, Layout& layout) {
  const std::uint32_t ranks = layout.size();
  std::uint32_t deepest = 0;
  double most = 0;
  for (const Tree& tree : layout.plan.trees) {
    most = std::max(most, tree.weight);
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      std::uint32_t depth = 0;
      for (std::int32_t at = tree.parent[rank]; at >= 0 && depth < ranks;
           at = tree.parent[static_cast<std::size_t>(at)])
        ++depth;
      deepest = std::max(deepest, depth);
    }
  }
  if (deepest == 0) return;
  cut_by_depth(layout, deepest, static_cast<double>(demand.bytes) * (most / total_weight(layout.plan.trees)));
}

double packed_trees_seconds(RoundCosts& costs, const Demand& demand, const Layout& layout) {
  const double total = total_weight(layout.plan.trees);
  std::vector<WeightedTree> trees;
  for (const Tree& tree : layout.plan.trees) {
    const auto place = [&tree](std::uint32_t rank) { return place_in(tree, rank); };
    trees.push_back(tree_of(layout.size(), place, tree.weight / total));
  }
  return tree_seconds(costs, demand, layout, trees);
}

double packed_trees_added_bytes(const Demand& demand, const Layout&) {
  return static_cast<double>(demand.bytes);
}

double packed_trees_messages(const Demand& demand, const Layout& layout) {
  const double n = layout.size(), elements = static_cast<double>(demand.elements());
  const auto trees = static_cast<double>(std::max<std::size_t>(1, layout.plan.trees.size()));
  return 2 * n * trees * pieces_of(layout, elements / trees);
}

}  // namespace

constinit const Route routes::kPackedTrees{
    .name = "packed-trees",
    .summary = "trees packed into direct cables",
    .shape = RouteShape::kByTrees,
    .makes_lists = true,
    .add_lanes = add_packed_trees,
    .lanes = 2,
    .tried = {"packed-trees"},
    .lay_out = lay_out_packed_trees,
    .cut = cut_packed_trees,
    .seconds = packed_trees_seconds,
    .added_bytes = packed_trees_added_bytes,
    .messages = packed_trees_messages,
};

}  // namespace thalweg
