// Double tree: half of the bytes over each of two binary trees, inner nodes of one being leaves of the other;
// lanes as in tree_lanes.cc. In many pieces about S/B each way. P. Sanders, J. Speck, J. L. Träff, "Two-tree
// algorithms for full bandwidth broadcast, reduction and scan", Parallel Computing 2009, section 3.
#include "exchange/route/formulas.h"
#include "exchange/route/lanes.h"
#include "exchange/route/route.h"

namespace thalweg {
namespace {

void add_double_tree(const Work& work, LaneMaker& to) {
  const double middle = (work.slice_begin + work.slice_end) / 2;
  Work half = work;
  half.slice_end = middle;
  add_tree(half, double_tree_place(to.all.me, to.all.size, false), to);
  half.slice_begin = middle;
  half.slice_end = work.slice_end;
  add_tree(half, double_tree_place(to.all.me, to.all.size, true), to);
}

void cut_double_tree(const Demand& demand, Layout& layout) {
  cut_by_depth(layout, log2_depth(layout.size()), static_cast<double>(demand.bytes) / 2);
}

double double_tree_seconds(RoundCosts& costs, const Demand& demand, const Layout& layout) {
  const std::uint32_t n = layout.size();
  std::vector<WeightedTree> trees;
  for (const bool second : {false, true}) {
    const auto place = [&](std::uint32_t rank) { return double_tree_place(rank, n, second); };
    trees.push_back(tree_of(n, place, 0.5));
  }
  return tree_seconds(costs, demand, layout, trees);
}

double double_tree_added_bytes(const Demand& demand, const Layout&) {
  return static_cast<double>(demand.bytes);
}

}  // namespace

constinit const Route routes::kDoubleTree{
    .name = "double-tree",
    .summary = "half up and down each of two trees",
    .makes_lists = true,
    .add_lanes = add_double_tree,
    .lanes = 4,
    .tried = {"double-tree"},
    .cut = cut_double_tree,
    .seconds = double_tree_seconds,
    .added_bytes = double_tree_added_bytes,
};

}  // namespace thalweg
