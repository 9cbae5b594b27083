// Binomial tree: the root has children at distances 1, 2, 4, ..., depth log2 N; lanes as in tree_lanes.cc.
// Time, whole: 2 log2(N) (L + S/B). R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of collective
// communication operations in MPICH", IJHPCA 2005, section 4.
#include <cmath>

#include "exchange/route/formulas.h"
#include "exchange/route/lanes.h"
#include "exchange/route/route.h"

namespace thalweg {
namespace {

void add_binomial_tree(const Work& work, LaneMaker& to) {
  add_rooted(work, binomial_place(to.all.me, to.all.size, root_of(work)), true, to);
}

void cut_binomial_tree(const Demand& demand, Layout& layout) {
  cut_by_depth(demand, layout, log2_depth(layout.size()));
}

double binomial_tree_seconds(RoundCosts& costs, const Demand& demand, const Layout& layout) {
  const std::uint32_t n = layout.size();
  const double bytes = static_cast<double>(demand.bytes);
  if (costs.messages_of(bytes) != 1) {
    const auto place = [&](std::uint32_t rank) { return binomial_place(rank, n, demand.root); };
    return tree_seconds(costs, demand, layout, {tree_of(n, place)});
  }
  double each = 0;  // Whole, its levels overlap: rounds are of one transfer a rank.
  for (std::uint32_t distance = 1; distance < n; distance *= 2) {
    Round round;
    for (std::uint32_t rank = distance; rank < n; rank += 2 * distance)
      round.push_back({rank, rank - distance, bytes});
    each += costs.of(round).whole();
  }
  return 2 * each;
}

double binomial_tree_added_bytes(const Demand& demand, const Layout&) {
  return static_cast<double>(demand.bytes) * std::ceil(std::log2(static_cast<double>(demand.ranks)));
}

}  // namespace

constinit const Route routes::kBinomialTree{
    .name = "binomial-tree",
    .summary = "up and down",
    .supports = {Operation::kReduce, Operation::kBroadcast, Operation::kGather, Operation::kScatter},
    .keeps_order = {Operation::kAllReduce, Operation::kReduce},
    .makes_lists = true,
    .add_lanes = add_binomial_tree,
    .lanes = 2,
    .tried = {"binomial-tree"},
    .cut = cut_binomial_tree,
    .seconds = binomial_tree_seconds,
    .added_bytes = binomial_tree_added_bytes,
};

}  // namespace thalweg
