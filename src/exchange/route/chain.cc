// Chain: rank after rank, then back, the naive way: a tree of depth N-1; lanes as in tree_lanes.cc.
// Time, whole: 2(N-1)(L + S/B).
#include <algorithm>

#include "exchange/route/formulas.h"
#include "exchange/route/lanes.h"
#include "exchange/route/route.h"

namespace thalweg {
namespace {

void add_chain(const Work& work, LaneMaker& to) {
  add_tree(work, chain_place(to.all.me, to.all.size, root_of(work)), to);
}

void cut_chain(const Demand& demand, Layout& layout) {
  cut_by_depth(demand, layout, std::max(layout.size(), 2U) - 1);
}

double chain_seconds(RoundCosts& costs, const Demand& demand, const Layout& layout) {
  const std::uint32_t n = layout.size();
  const auto place = [&](std::uint32_t rank) { return chain_place(rank, n, demand.root); };
  return tree_seconds(costs, demand, layout, {tree_of(n, place)});
}

double chain_added_bytes(const Demand& demand, const Layout&) { return static_cast<double>(demand.bytes); }

}  // namespace

constinit const Route routes::kChain{
    .name = "chain",
    .summary = "rank after rank, the naive way",
    .supports = {Operation::kReduce, Operation::kBroadcast},
    .keeps_order = {Operation::kAllReduce, Operation::kReduce},
    .makes_lists = true,
    .add_lanes = add_chain,
    .lanes = 2,
    .tried = {"chain"},
    .cut = cut_chain,
    .seconds = chain_seconds,
    .added_bytes = chain_added_bytes,
};

}  // namespace thalweg
