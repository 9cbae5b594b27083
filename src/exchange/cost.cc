#include "exchange/cost.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "exchange/tree_shape.h"

namespace thalweg {
namespace {

struct Transfer {
  std::uint32_t from = 0;  // Ranks.
  std::uint32_t to = 0;
  double bytes = 0;
};
using Round = std::vector<Transfer>;

constexpr double kSpreadPairsMax = 1 << 20;  // Beyond it one distance stands for all.

// What rounds of transfers cost on a topology.
class Costs {
 public:
  Costs(const Topology& topology, const Layout& layout) : topology_(topology), layout_(layout) {}

  struct Cost {
    double latency = 0;  // The longest, in seconds.
    double mean_latency = 0;
    double load = 0;  // Seconds of the link that carries for longest.
  };
  Cost of(const Round& round) {
    Cost cost;
    std::vector<double> loads(topology_.link_count());
    for (const Transfer& transfer : round) {
      topology_.path(layout_.endpoints[transfer.from], layout_.endpoints[transfer.to], path_);
      const double latency = static_cast<double>(topology_.latency_ns(path_)) * 1e-9;
      cost.latency = std::max(cost.latency, latency);
      cost.mean_latency += latency / static_cast<double>(round.size());
      for (const LinkIndex link : path_) {
        double& load = loads[topology_.link(link).queue];
        load += transfer.bytes / topology_.link(link).bytes_per_second;
        cost.load = std::max(cost.load, load);
      }
    }
    return cost;
  }
  double latency(std::uint32_t from, std::uint32_t to) {
    topology_.path(layout_.endpoints[from], layout_.endpoints[to], path_);
    return static_cast<double>(topology_.latency_ns(path_)) * 1e-9;
  }
  double whole(const Round& round) {
    const Cost cost = of(round);
    return cost.latency + cost.load;
  }

 private:
  const Topology& topology_;
  const Layout& layout_;
  std::vector<LinkIndex> path_;
};

Round shift(std::uint32_t ranks, std::uint32_t distance, double bytes) {
  Round round;
  for (std::uint32_t rank = 0; rank < ranks; ++rank)
    round.push_back({rank, (rank + distance) % ranks, bytes});
  return round;
}

double ring_seconds(Costs& costs, const Demand& demand, const Layout& layout) {
  const std::uint32_t n = demand.ranks;
  const double bytes = static_cast<double>(demand.bytes), steps = 2.0 * (n - 1);
  Round round;
  if (layout.plan.rings.empty()) {
    round = shift(n, 1, bytes / n);
    if (layout.plan.route == Route::kBidirectionalRing) {
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
  const Costs::Cost cost = costs.of(round);
  const double block = static_cast<double>(layout.plan.piece_elements * Demand::kElementBytes);
  const double share = layout.plan.piece_elements > 0 ? std::min(1.0, block / (bytes / n)) : 1;
  // In pieces, one is on its way while the next is sent.
  return std::max(steps * cost.load + cost.latency + share * cost.load,
                  steps * (cost.mean_latency + share * cost.load));
}

// Where each rank is in a tree: how deep, and seconds of latency from the root.
struct Depths {
  std::vector<std::uint32_t> level;
  std::vector<double> latency;
  std::uint32_t deepest = 0;
  double longest = 0;
};
Depths depths_of(Costs& costs, const std::vector<TreePlace>& tree) {
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

double binomial_seconds(Costs& costs, const Demand& demand, const Layout& layout) {
  double each = 0;
  for (std::uint32_t distance = 1; distance < layout.size(); distance *= 2) {
    Round round;
    for (std::uint32_t rank = distance; rank < layout.size(); rank += 2 * distance) {
      round.push_back({rank, rank - distance, static_cast<double>(demand.bytes)});
    }
    each += costs.whole(round);
  }
  return 2 * each;
}

double tree_seconds(Costs& costs, const Demand& demand, const Layout& layout,
                    const std::vector<std::vector<TreePlace>>& trees, const std::vector<double>& shares) {
  const double bytes = static_cast<double>(demand.bytes);
  Round up, both;
  std::vector<Round> levels;
  std::uint32_t depth = 1;
  double latency = 0;
  for (std::size_t t = 0; t < trees.size(); ++t) {
    const Depths depths = depths_of(costs, trees[t]);
    depth = std::max(depth, depths.deepest);
    latency = std::max(latency, depths.longest);
    levels.resize(std::max<std::size_t>(levels.size(), depths.deepest));
    for (std::uint32_t rank = 0; rank < layout.size(); ++rank) {
      if (trees[t][rank].is_root()) continue;
      const auto parent = static_cast<std::uint32_t>(trees[t][rank].parent);
      up.push_back({rank, parent, bytes * shares[t]});
      both.push_back(up.back());
      both.push_back({parent, rank, bytes * shares[t]});
      levels[depths.level[rank] - 1].push_back(up.back());
    }
  }
  if (layout.plan.piece_elements > 0) {
    const double lane = bytes * *std::max_element(shares.begin(), shares.end());
    const double piece = static_cast<double>(layout.plan.piece_elements * Demand::kElementBytes);
    return 2 * latency + (2.0 * depth - 1) * std::min(1.0, piece / lane) * costs.of(up).load +
           costs.of(both).load;
  }
  double seconds = 2 * latency;  // Whole, a level waits for the one below.
  for (const Round& level : levels) seconds += 2 * costs.of(level).load;
  return seconds;
}

double trees_seconds(Costs& costs, const Demand& demand, const Layout& layout) {
  const std::uint32_t n = layout.size();
  std::vector<std::vector<TreePlace>> trees;
  std::vector<double> shares;
  const auto add = [&](auto place, double share) {
    trees.emplace_back();
    for (std::uint32_t rank = 0; rank < n; ++rank) trees.back().push_back(place(rank));
    shares.push_back(share);
  };
  switch (layout.plan.route) {
    case Route::kStar:
      add([&](std::uint32_t rank) { return star_place(rank, n, demand.root); }, 1);
      break;
    case Route::kChain:
      add([&](std::uint32_t rank) { return chain_place(rank, n, demand.root); }, 1);
      break;
    case Route::kBinomialTree:
      add([&](std::uint32_t rank) { return binomial_place(rank, n, demand.root); }, 1);
      break;
    case Route::kTree:
      add([&](std::uint32_t rank) { return kary_place(rank, n, demand.root, layout.plan.fanout); }, 1);
      break;
    case Route::kDoubleTree:
      for (const bool second : {false, true}) {
        add([&](std::uint32_t rank) { return double_tree_place(rank, n, second); }, 0.5);
      }
      break;
    default: {
      double total = 0;
      for (const Tree& tree : layout.plan.trees) total += tree.weight;
      for (const Tree& tree : layout.plan.trees) {
        add([&](std::uint32_t rank) { return place_in(tree, rank); }, tree.weight / total);
      }
    }
  }
  // Whole, a binomial tree's levels overlap: its rounds are of one transfer a rank.
  const bool rounds = layout.plan.route == Route::kBinomialTree && layout.plan.piece_elements == 0;
  return rounds ? binomial_seconds(costs, demand, layout)
                : tree_seconds(costs, demand, layout, trees, shares);
}

// Spread and servers: all workers with all owners, and back.
double owners_seconds(Costs& costs, const Demand& demand, const Layout& layout) {
  const std::uint32_t n = layout.size(), m = demand.ranks, servers = n - m;
  const double bytes = static_cast<double>(demand.bytes);
  if (static_cast<double>(m) * n > kSpreadPairsMax) {
    const Costs::Cost cost = costs.of(shift(n, n / 2, bytes / (servers ? servers : n)));
    return 2 * (cost.latency + (servers ? m : n - 1) * cost.load);
  }
  double server = servers > 0 ? 1.0 / servers : 0, worker = servers > 0 ? 0 : 1.0 / m;
  if (layout.plan.route == Route::kSpareServers && m > 1) {
    const double workers = m, k = servers;
    server = k > workers ? 1 / k : 2 * (workers - 1) / (workers * workers + k * workers - 2 * k);
    worker = (1 - k * server) / workers;
  }
  Round in, both;
  for (std::uint32_t from = 0; from < m; ++from) {
    for (std::uint32_t owner = 0; owner < n; ++owner) {
      const double share = owner < m ? worker : server;
      if (owner == from || share <= 0) continue;
      in.push_back({from, owner, bytes * share});
      both.push_back(in.back());
      both.push_back({owner, from, bytes * share});
    }
  }
  if (layout.plan.piece_elements == 0) return 2 * costs.whole(in);
  const Costs::Cost cost = costs.of(both);
  return 2 * cost.latency + cost.load * (1 + 1.0 / 64);
}

double doubling_seconds(Costs& costs, const Demand& demand, const Layout& layout) {
  const std::uint32_t n = demand.ranks, folded = std::bit_floor(n), extra = n - folded;
  const double bytes = static_cast<double>(demand.bytes);
  const auto rank_of = [extra](std::uint32_t number) { return number < extra ? 2 * number : number + extra; };
  const bool halves = layout.plan.route == Route::kHalvingDoubling;
  double seconds = 0;
  for (std::uint32_t distance = 1; distance < folded; distance *= 2) {
    const double each = halves ? bytes * distance / folded : bytes;
    Round round;
    for (std::uint32_t number = 0; number < folded; ++number) {
      round.push_back({rank_of(number), rank_of(number ^ distance), each});
    }
    seconds += (halves ? 2 : 1) * costs.whole(round);
  }
  Round fold;
  for (std::uint32_t pair = 0; pair < extra; ++pair) fold.push_back({2 * pair + 1, 2 * pair, bytes});
  return seconds + (extra > 0 ? 2 * costs.whole(fold) : 0);
}

double hierarchical_seconds(Costs& costs, const Demand& demand, const Layout& layout) {
  double bytes = static_cast<double>(demand.bytes), seconds = 0;
  std::uint32_t stride = 1;
  for (const std::uint32_t level : layout.plan.levels) {
    bytes /= level;
    Round round;
    for (std::uint32_t rank = 0; rank < demand.ranks && level > 1; ++rank) {
      const std::uint32_t place = rank / stride % level;
      round.push_back({rank, rank - place * stride + (place + 1) % level * stride, bytes});
    }
    seconds += 2.0 * (level - 1) * costs.whole(round);
    stride *= level;
  }
  return seconds;
}

bool is_half(Operation operation) {
  return operation == Operation::kReduce || operation == Operation::kBroadcast ||
         operation == Operation::kReduceScatter || operation == Operation::kAllGather ||
         operation == Operation::kGather || operation == Operation::kScatter;
}

}  // namespace

double predicted_seconds(const Topology& topology, const Demand& demand, const Layout& layout) {
  if (demand.ranks <= 1) return 0;
  Costs costs(topology, layout);
  const double share = is_half(demand.operation) ? 0.5 : 1;
  switch (layout.plan.route) {
    case Route::kRing:
    case Route::kRings:
    case Route::kBidirectionalRing:
      return share * ring_seconds(costs, demand, layout);
    case Route::kSpread:
    case Route::kServers:
    case Route::kSpareServers:
      return share * owners_seconds(costs, demand, layout);
    case Route::kRecursiveDoubling:
    case Route::kHalvingDoubling:
      return share * doubling_seconds(costs, demand, layout);
    case Route::kHierarchical:
      return share * hierarchical_seconds(costs, demand, layout);
    default:
      return share * trees_seconds(costs, demand, layout);
  }
}

double predicted_messages(const Demand& demand, const Layout& layout) {
  const double n = layout.size(), m = demand.ranks, elements = static_cast<double>(demand.elements());
  const auto pieces = [&](double block) {
    const double piece = static_cast<double>(layout.plan.piece_elements);
    return piece > 0 ? std::max(1.0, std::ceil(block / piece)) : 1.0;
  };
  const double rings = static_cast<double>(std::max<std::size_t>(1, layout.plan.rings.size()));
  switch (layout.plan.route) {
    case Route::kRing:
    case Route::kRings:
    case Route::kBidirectionalRing:
      return 2 * n * (n - 1) * rings * pieces(elements / n / rings);
    case Route::kSpread:
      return 2 * n * (n - 1) * pieces(elements / n);
    case Route::kServers:
      return 2 * m * (n - m) * pieces(elements / (n - m));
    case Route::kSpareServers:
      return 2 * m * n * pieces(elements / n);
    case Route::kRecursiveDoubling:
    case Route::kHalvingDoubling:
      return 2 * n * std::log2(n) * pieces(elements);
    case Route::kHierarchical: {
      double messages = 0;
      for (const std::uint32_t level : layout.plan.levels) messages += 2.0 * n * (level - 1);
      return messages * layout.plan.channels;
    }
    case Route::kPackedTrees:
      return 2 * n * static_cast<double>(layout.plan.trees.size()) *
             pieces(elements / static_cast<double>(layout.plan.trees.size()));
    default:
      return 2 * n * pieces(elements);
  }
}

}  // namespace thalweg
