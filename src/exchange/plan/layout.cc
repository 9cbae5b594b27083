#include "exchange/plan/layout.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "exchange/route/tree_shape.h"
#include "topology/packing.h"
#include "topology/rings.h"

namespace thalweg {
namespace {

// A tree in C pieces takes (2d - 1)/C longer than without end many: a share of this at most.
constexpr std::uint64_t kPiecesPerDepth = 64;
constexpr std::uint64_t kPiecesMax = 1024;
constexpr std::uint64_t kPiecesTimesRanksMax = std::uint64_t{1}
                                               << 22;  // So that large groups can be simulated.
constexpr std::uint64_t kTreePieceBytes = 16 << 10;    // At least.
// A ring is a pipeline already; pieces hide its latency.
constexpr std::uint64_t kRingPieces = 4;
constexpr std::uint64_t kRingPieceBytes = 64 << 10;
constexpr double kTreeWeightLost = 0.01;

Status refuse(std::string_view route, std::string why) {
  return {Code::kUsage, "route " + std::string(route) + ": " + std::move(why)};
}

Status seat(const Topology& topology, const Demand& demand, Layout& layout) {
  const std::uint32_t spare = topology.endpoint_count() - topology.rank_count();
  if (demand.ranks == 0 || demand.ranks > topology.rank_count()) {
    return {Code::kUsage, "topology " + topology.name() + " has " + std::to_string(topology.rank_count()) +
                              " ranks; expected 1 to that many, not " + std::to_string(demand.ranks)};
  }
  layout.endpoints.resize(demand.ranks);
  std::iota(layout.endpoints.begin(), layout.endpoints.end(), 0u);
  const std::uint32_t free = spare + topology.rank_count() - demand.ranks;
  if (layout.plan.servers > free) {
    return refuse(layout.route, "topology " + topology.name() + " has room for " + std::to_string(free) +
                                    " servers beside " + std::to_string(demand.ranks) + " ranks, not " +
                                    std::to_string(layout.plan.servers));
  }
  for (std::uint32_t i = 0; i < layout.plan.servers; ++i) {
    layout.endpoints.push_back(i < spare ? topology.rank_count() + i : demand.ranks + (i - spare));
  }
  return ok_status();
}

// The direct cables among the first `ranks` ranks.
std::vector<CapacityEdge> edges_among(const Topology& topology, std::uint32_t ranks) {
  std::vector<CapacityEdge> edges = direct_edges(topology);
  std::erase_if(edges, [ranks](const CapacityEdge& edge) { return std::max(edge.a, edge.b) >= ranks; });
  return edges;
}

// The rings that a route wants of those over direct cables: "ring" the heaviest, "rings" all, "rings:K" K of
// them, of which those beyond the last go back the way of the first ones, as "bidirectional-ring" has each
// go.
std::vector<Ring> chosen_rings(const std::vector<WeightedRing>& found, const Plan& plan) {
  std::vector<Ring> rings;
  for (const WeightedRing& ring : found) rings.push_back({ring.order, ring.weight});
  for (const WeightedRing& ring : found) {
    rings.push_back({ring.order, ring.weight});
    std::reverse(rings.back().order.begin(), rings.back().order.end());
  }
  std::size_t wanted = rings.size();
  if (plan.route == Route::kRing) wanted = 1;
  if (plan.route == Route::kRings) wanted = plan.ring_count > 0 ? plan.ring_count : found.size();
  if (wanted < rings.size()) rings.resize(wanted);
  return rings;
}

// Rings over direct cables, where there are any, and else, for "rings:K", by strides.
Status add_rings(const Topology& topology, const Demand& demand, Layout& layout) {
  Plan& plan = layout.plan;
  const auto edges = edges_among(topology, demand.ranks);
  if (const auto found = find_rings(demand.ranks, edges); !edges.empty() && found) {
    plan.rings = chosen_rings(*found, plan);
    if (plan.ring_count > plan.rings.size()) {
      return refuse(layout.route, "topology " + topology.name() + " has " +
                                      std::to_string(plan.rings.size()) +
                                      " rings of direct cables, both ways counted; expected at most as many");
    }
    plan.route = Route::kRings;
    return ok_status();
  }
  if (plan.route != Route::kRings) return ok_status();
  if (plan.ring_count == 0) {
    return refuse(layout.route,
                  "topology " + topology.name() + " has no ring of direct cables through the ranks");
  }
  Result<std::vector<Ring>> rings = rings_by_stride(demand.ranks, plan.ring_count);
  if (!rings) return rings.status();
  plan.rings = *std::move(rings);
  return ok_status();
}

Status add_trees(const Topology& topology, const Demand& demand, Layout& layout) {
  const auto edges = edges_among(topology, demand.ranks);
  if (edges.empty())
    return refuse(layout.route, "topology " + topology.name() + " has no direct cables between ranks");
  const auto packing = pack_trees(demand.ranks, edges, kTreeWeightLost);
  if (!packing) return packing.status();
  for (const PackedTree& tree : packing->trees)
    layout.plan.trees.push_back({tree.root, tree.parent, tree.weight});
  return ok_status();
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
    grouped = std::max(factor, 1u);
  }
  levels.push_back(ranks / grouped);
  return levels;
}

double largest_share(const std::vector<Tree>& trees) {
  double sum = 0, most = 0;
  for (const Tree& tree : trees) {
    sum += tree.weight;
    most = std::max(most, tree.weight);
  }
  return most / sum;
}

std::uint64_t elements_of(double bytes) {
  return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::llround(bytes)) / Demand::kElementBytes);
}

void cut(const Demand& demand, Layout& layout) {
  Plan& plan = layout.plan;
  const std::uint32_t ranks = layout.size();
  double lane = static_cast<double>(demand.bytes);
  std::uint32_t depth = depth_of(plan, ranks);
  switch (plan.route) {
    case Route::kRing:
    case Route::kBidirectionalRing:
    case Route::kRings: {
      const double block = lane / ranks / static_cast<double>(std::max<std::size_t>(1, plan.rings.size()));
      if (block >= 2 * kRingPieceBytes)
        plan.piece_elements = elements_of(std::max<double>(kRingPieceBytes, block / kRingPieces));
      return;
    }
    case Route::kHierarchical:
      if (plan.levels.size() > 1 && lane / ranks >= kRingPieces * kRingPieceBytes)
        plan.channels = kRingPieces;
      return;
    case Route::kServers:
      depth = 1;
      lane /= plan.servers;
      break;
    case Route::kSpareServers:
      depth = 1;
      lane /= plan.servers + ranks;
      break;
    case Route::kDoubleTree:
      lane /= 2;
      break;
    case Route::kPackedTrees:
      lane *= largest_share(plan.trees);
      break;
    default:
      break;
  }
  if (depth == 0) return;
  const std::uint64_t most = std::min(kPiecesMax, std::max(kPiecesPerDepth, kPiecesTimesRanksMax / ranks));
  const std::uint64_t pieces = std::min(most, kPiecesPerDepth * (2 * depth - 1));
  plan.piece_elements = elements_of(std::max<double>(kTreePieceBytes, lane / static_cast<double>(pieces)));
}

}  // namespace

std::uint32_t depth_of(const Plan& plan, std::uint32_t ranks) {
  const auto log2 = static_cast<std::uint32_t>(std::bit_width(std::max(ranks, 2u) - 1));
  switch (plan.route) {
    case Route::kStar:
      return 1;
    case Route::kChain:
      return std::max(ranks, 2u) - 1;
    case Route::kBinomialTree:
    case Route::kDoubleTree:
      return log2;
    case Route::kTree: {
      std::uint32_t depth = 1;
      for (std::uint64_t level = plan.fanout, all = 1 + level; all < ranks && depth < ranks;
           all += level *= plan.fanout) {
        ++depth;
      }
      return depth;
    }
    case Route::kPackedTrees: {
      std::uint32_t deepest = 0;
      for (const Tree& tree : plan.trees) {
        for (std::uint32_t rank = 0; rank < ranks; ++rank) {
          std::uint32_t depth = 0;
          for (std::int32_t at = tree.parent[rank]; at >= 0 && depth < ranks;
               at = tree.parent[static_cast<std::size_t>(at)])
            ++depth;
          deepest = std::max(deepest, depth);
        }
      }
      return deepest;
    }
    default:
      return 0;
  }
}

Result<Layout> lay_out(const Topology& topology, const Demand& demand, std::string_view route) {
  auto plan = parse_route(route);
  if (!plan) return plan.status();
  Layout layout{std::string(route), *std::move(plan), {}};
  const bool reduces_all =
      demand.operation == Operation::kAllReduce || demand.operation == Operation::kBarrier;
  if (layout.plan.servers > 0 && !reduces_all) {
    return refuse(route, std::string("servers have no part in ") + operation_name(demand.operation));
  }
  if (layout.plan.route == Route::kShared)
    return refuse(route, "is of one machine's memory; it crosses no network");
  if (Status status = seat(topology, demand, layout); !status.ok()) return status;
  if (layout.plan.route == Route::kSpareServers && layout.plan.servers == 0)
    layout.plan.route = Route::kSpread;
  const Route wanted = layout.plan.route;
  const bool rings = wanted == Route::kRing || wanted == Route::kBidirectionalRing || wanted == Route::kRings;
  if (rings && demand.ranks > 1) {
    if (Status status = add_rings(topology, demand, layout); !status.ok()) return status;
  }
  if (wanted == Route::kPackedTrees && demand.ranks > 1) {
    if (Status status = add_trees(topology, demand, layout); !status.ok()) return status;
  }
  if (wanted == Route::kHierarchical && layout.plan.levels.empty())
    layout.plan.levels = levels_of(topology, demand.ranks);
  if (demand.pipelined) cut(demand, layout);
  if (!supports(demand.operation, layout.plan.route)) {
    return refuse(route, std::string("does not do ") + operation_name(demand.operation));
  }
  if (demand.ranks == 1 && (wanted == Route::kRings || wanted == Route::kPackedTrees))
    layout.plan.route = Route::kRing;
  if (Status status = check_plan(layout.plan, demand.operation, layout.size()); !status.ok()) return status;
  return layout;
}

std::vector<std::string> all_routes(const Topology& topology, const Demand& demand) {
  const std::uint32_t spare = topology.endpoint_count() - topology.rank_count();
  std::vector<std::string> candidates = {"gpu0",
                                         "cpu",
                                         "spread",
                                         "chain",
                                         "ring",
                                         "bidirectional-ring",
                                         "rings",
                                         "binomial-tree",
                                         "tree:2",
                                         "tree:8",
                                         "double-tree",
                                         "recursive-doubling",
                                         "halving-doubling",
                                         "hierarchical",
                                         "packed-trees"};
  if (spare > 0) {
    const std::string servers = std::to_string(std::min(spare, demand.ranks));
    candidates.push_back("servers:" + servers);
    candidates.push_back("byteps:" + servers);
  }
  candidates.push_back("colocated");
  std::erase_if(candidates, [&](const std::string& route) { return !lay_out(topology, demand, route); });
  return candidates;
}

}  // namespace thalweg
