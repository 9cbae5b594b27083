#include "exchange/route/formulas.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "topology/rings.h"

namespace thalweg {
namespace {

// A ring is a pipeline already; pieces hide its latency.
constexpr std::uint64_t kRingPieces = 4;
constexpr std::uint64_t kRingPieceBytes = 64 << 10;
// A tree in C pieces takes (2d - 1)/C longer than without end many: a share of this at most.
constexpr std::uint64_t kPiecesPerDepth = 64;
constexpr std::uint64_t kPiecesMax = 1024;
constexpr std::uint64_t kPiecesTimesRanksMax = std::uint64_t{1}
                                               << 22;  // So that large groups can be simulated.
constexpr std::uint64_t kTreePieceBytes = 16 << 10;    // At least.

// Of workers and owners; beyond it some distances stand for all, as many as these at least.
constexpr std::uint32_t kSpreadPairsMax = 1 << 13;
constexpr std::uint32_t kDistancesMin = 16;

}  // namespace

std::uint64_t elements_of(double bytes) {
  return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::llround(bytes)) / Demand::kElementBytes);
}

double ring_seconds(RoundCosts& costs, const Demand& demand, const Layout& layout, bool both_ways) {
  const std::uint32_t n = demand.ranks;
  const double bytes = static_cast<double>(demand.bytes), steps = 2.0 * (n - 1);
  Round round;
  if (layout.plan.rings.empty()) {
    round = shift(n, 1, bytes / n);
    if (both_ways) {
      for (Transfer& transfer : round) transfer.bytes /= 2;
      for (std::uint32_t rank = 0; rank < n; ++rank) round.push_back({(rank + 1) % n, rank, bytes / n / 2});
    }
  }
  double total = 0;
  for (const Ring& ring : layout.plan.rings) total += ring.weight;
  for (const Ring& ring : layout.plan.rings) {
    for (std::uint32_t i = 0; i < n; ++i) {
      round.push_back({ring.order[i], ring.order[(i + 1) % n], bytes / n * ring.weight / total});
    }
  }
  const RoundCosts::Cost cost = costs.of(round);
  const double block = static_cast<double>(layout.plan.piece_elements * Demand::kElementBytes);
  const double share = layout.plan.piece_elements > 0 ? std::min(1.0, block / (bytes / n)) : 1;
  // In pieces, one is on its way while the next is sent.
  return std::max(steps * cost.load + cost.latency, steps * (cost.mean_latency + share * cost.load));
}

// Each piece is passed on at once, after one block to begin with.
double ring_fetched_bytes(const Demand& demand, const Layout&, double cache_bytes) {
  return bytes_beyond(cache_bytes, static_cast<double>(demand.bytes) / demand.ranks);
}

double ring_messages(const Demand& demand, const Layout& layout) {
  const double n = layout.size(), elements = static_cast<double>(demand.elements());
  const double rings = static_cast<double>(std::max<std::size_t>(1, layout.plan.rings.size()));
  return 2 * n * (n - 1) * rings * pieces_of(layout, elements / n / rings);
}

void cut_ring(const Demand& demand, Layout& layout) {
  const auto rings = static_cast<double>(std::max<std::size_t>(1, layout.plan.rings.size()));
  const double block = static_cast<double>(demand.bytes) / layout.size() / rings;
  if (block < 2 * kRingPieceBytes) return;
  layout.plan.piece_elements = elements_of(std::max<double>(kRingPieceBytes, block / kRingPieces));
}

std::vector<CapacityEdge> edges_among(const Topology& topology, std::uint32_t ranks) {
  std::vector<CapacityEdge> edges = direct_edges(topology);
  std::erase_if(edges, [ranks](const CapacityEdge& edge) { return std::max(edge.a, edge.b) >= ranks; });
  return edges;
}

std::vector<Ring> cable_rings(const Topology& topology, std::uint32_t ranks, bool both_ways) {
  const std::vector<CapacityEdge> edges = edges_among(topology, ranks);
  std::vector<Ring> rings;
  const auto found = find_rings(ranks, edges);
  if (edges.empty() || !found.ok()) return rings;
  for (const WeightedRing& ring : *found) rings.push_back({ring.order, ring.weight});
  for (std::size_t i = 0; both_ways && i < found->size(); ++i) {
    rings.push_back(rings[i]);
    std::reverse(rings.back().order.begin(), rings.back().order.end());
  }
  return rings;
}

namespace {

// Where each rank is in a tree: how deep, and seconds of latency from the root.
struct Depths {
  std::vector<std::uint32_t> level;
  std::vector<double> latency;
  std::uint32_t deepest = 0;
  double longest = 0;
};
Depths depths_of(RoundCosts& costs, const std::vector<TreePlace>& tree) {
  Depths depths{std::vector<std::uint32_t>(tree.size()), std::vector<double>(tree.size())};
  std::vector<std::uint32_t> open;
  for (std::uint32_t rank = 0; rank < tree.size(); ++rank) {
    if (tree[rank].is_root()) open.push_back(rank);
  }
  while (!open.empty()) {
    const std::uint32_t rank = open.back();
    open.pop_back();
    depths.deepest = std::max(depths.deepest, depths.level[rank]);
    depths.longest = std::max(depths.longest, depths.latency[rank]);
    for (const std::uint32_t child : tree[rank].children) {
      depths.level[child] = depths.level[rank] + 1;
      depths.latency[child] = depths.latency[rank] + costs.latency(child, rank);
      open.push_back(child);
    }
  }
  return depths;
}

}  // namespace

double tree_seconds(RoundCosts& costs, const Demand& demand, const Layout& layout,
                    const std::vector<WeightedTree>& trees) {
  const double bytes = static_cast<double>(demand.bytes);
  Round up, both;
  std::vector<Round> levels;
  std::uint32_t depth = 1;
  double latency = 0, most = 0;
  for (const WeightedTree& tree : trees) {
    const Depths depths = depths_of(costs, tree.places);
    depth = std::max(depth, depths.deepest);
    latency = std::max(latency, depths.longest);
    most = std::max(most, tree.share);
    levels.resize(std::max<std::size_t>(levels.size(), depths.deepest));
    for (std::uint32_t rank = 0; rank < layout.size(); ++rank) {
      if (tree.places[rank].is_root()) continue;
      const auto parent = static_cast<std::uint32_t>(tree.places[rank].parent);
      up.push_back({rank, parent, bytes * tree.share});
      both.push_back(up.back());
      both.push_back({parent, rank, bytes * tree.share});
      levels[depths.level[rank] - 1].push_back(up.back());
    }
  }
  const double lane = bytes * most;
  if (costs.messages_of(lane) > 1) {
    const double piece = static_cast<double>(layout.plan.piece_elements * Demand::kElementBytes);
    return 2 * latency + (2.0 * depth - 1) * piece / lane * costs.of(up).load + costs.of(both).load;
  }
  double seconds = 2 * latency;  // Whole, a level waits for the one below.
  for (const Round& level : levels) seconds += 2 * costs.of(level).load;
  return seconds;
}

void cut_by_depth(const Demand& demand, Layout& layout, std::uint32_t depth) {
  cut_by_depth(layout, depth, static_cast<double>(demand.bytes));
}

void cut_by_depth(Layout& layout, std::uint32_t depth, double lane_bytes) {
  const std::uint64_t most =
      std::min(kPiecesMax, std::max(kPiecesPerDepth, kPiecesTimesRanksMax / layout.size()));
  const std::uint64_t pieces = std::min(most, kPiecesPerDepth * (2 * depth - 1));
  layout.plan.piece_elements =
      elements_of(std::max<double>(kTreePieceBytes, lane_bytes / static_cast<double>(pieces)));
}

std::uint32_t log2_depth(std::uint32_t ranks) {
  return static_cast<std::uint32_t>(std::bit_width(std::max(ranks, 2U) - 1));
}

namespace {

// Distances from a worker to those who own parts for it, or a sample of them, each of which stands for as
// many as that leaves out.
struct OwnerDistances {
  std::vector<std::uint32_t> distances;
  double each = 1;
};
OwnerDistances distances_of(std::uint32_t workers, std::uint32_t first, std::uint32_t end) {
  OwnerDistances made;
  const std::uint32_t all = end - first;
  const std::uint32_t most = std::max(kDistancesMin, kSpreadPairsMax / workers);
  // Multiples of the golden ratio fall evenly, and into step with no number of ranks a machine.
  constexpr double kGolden = 0.6180339887498949;
  for (std::uint32_t i = 0; i < std::min(all, most); ++i) {
    const double at = all <= most ? i : std::floor(std::fmod((i + 0.5) * kGolden, 1.0) * all);
    made.distances.push_back(first + static_cast<std::uint32_t>(at));
  }
  made.each = static_cast<double>(all) / static_cast<double>(made.distances.size());
  return made;
}

}  // namespace

double owners_seconds(RoundCosts& costs, const Demand& demand, const Layout& layout, OwnShares own) {
  const std::uint32_t n = layout.size(), m = demand.ranks, servers = n - m;
  const bool workers_own = own.worker > 0, whole = layout.plan.piece_elements == 0;
  const std::uint32_t owners = workers_own ? n : servers;
  const OwnerDistances to = distances_of(m, workers_own ? 1 : 0, owners);
  const double bytes = static_cast<double>(demand.bytes) * to.each;
  Round round;  // There, and in pieces back as well at the same time.
  round.reserve((whole ? 1 : 2) * to.distances.size() * m);
  for (std::uint32_t from = 0; from < m; ++from) {
    for (const std::uint32_t distance : to.distances) {
      const std::uint32_t owner = n - owners + (from + distance) % owners;
      const double part = bytes * (owner < m ? own.worker : own.server);
      round.push_back({from, owner, part});
      if (!whole) round.push_back({owner, from, part});
    }
  }
  const RoundCosts::Cost cost = costs.of(round);
  return whole ? 2 * cost.whole() : 2 * cost.latency + cost.load * (1 + 1.0 / 64);
}

double owners_added_bytes(const Demand& demand, const Layout& layout) {
  return static_cast<double>(demand.bytes) * demand.ranks / std::max<double>(1, layout.plan.servers);
}

Status check_owners_barrier(const Plan& plan, Operation operation, std::uint32_t most) {
  if (operation != Operation::kBarrier || plan.servers <= most) return ok_status();
  return refuse_route(plan.name(),
                      "a barrier is about one number, and would not wait for servers that own none of it");
}

double doubling_seconds(RoundCosts& costs, const Demand& demand, bool halves) {
  const std::uint32_t n = demand.ranks, folded = std::bit_floor(n), extra = n - folded;
  const double bytes = static_cast<double>(demand.bytes);
  const auto rank_of = [extra](std::uint32_t number) { return number < extra ? 2 * number : number + extra; };
  double seconds = 0;
  for (std::uint32_t distance = 1; distance < folded; distance *= 2) {
    const double each = halves ? bytes * distance / folded : bytes;
    Round round;
    for (std::uint32_t number = 0; number < folded; ++number) {
      round.push_back({rank_of(number), rank_of(number ^ distance), each});
    }
    seconds += (halves ? 2 : 1) * costs.of(round).whole();
  }
  Round fold;
  for (std::uint32_t pair = 0; pair < extra; ++pair) fold.push_back({2 * pair + 1, 2 * pair, bytes});
  return seconds + (extra > 0 ? 2 * costs.of(fold).whole() : 0);
}

double doubling_messages(const Demand& demand, const Layout& layout) {
  const double n = layout.size();
  return 2 * n * std::log2(n) * pieces_of(layout, static_cast<double>(demand.elements()));
}

}  // namespace thalweg
