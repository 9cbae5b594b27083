// Tree: complete and k-ary, filled level by level; lanes as in tree_lanes.cc. Time, of depth d, whole:
// 2 d (L + k S/B); in many pieces about k S/B.
#include "exchange/route/formulas.h"
#include "exchange/route/lanes.h"
#include "exchange/route/route.h"

namespace thalweg {
namespace {

Status check_tree(const Plan& plan, Operation, std::uint32_t) {
  return plan.fanout > 0 ? ok_status() : refuse_route(plan.name(), "expected a fan-out above 0");
}

void add_kary_tree(const Work& work, LaneMaker& to) {
  add_tree(work, kary_place(to.all.me, to.all.size, work.root, to.plan.fanout), to);
}

void cut_tree(const Demand& demand, Layout& layout) {
  const std::uint32_t ranks = layout.size(), fanout = layout.plan.fanout;
  std::uint32_t depth = 1;
  for (std::uint64_t level = fanout, all = 1 + level; all < ranks && depth < ranks; all += level *= fanout)
    ++depth;
  cut_by_depth(demand, layout, depth);
}

double kary_tree_seconds(RoundCosts& costs, const Demand& demand, const Layout& layout) {
  const std::uint32_t n = layout.size();
  const auto place = [&](std::uint32_t rank) { return kary_place(rank, n, demand.root, layout.plan.fanout); };
  return tree_seconds(costs, demand, layout, {tree_of(n, place)});
}

double tree_added_bytes(const Demand& demand, const Layout& layout) {
  return static_cast<double>(demand.bytes) * layout.plan.fanout;
}

}  // namespace

constinit const Route routes::kTree{
    .name = "tree",
    .summary = "up and down a tree of K children",
    .number = {.where = &Plan::fanout, .unsaid = 2, .least = 1},
    .supports = {Operation::kReduce, Operation::kBroadcast},
    .makes_lists = true,
    .check = check_tree,
    .add_lanes = add_kary_tree,
    .lanes = 2,
    .tried = {"tree:2", "tree:8"},
    .cut = cut_tree,
    .seconds = kary_tree_seconds,
    .added_bytes = tree_added_bytes,
};

}  // namespace thalweg
