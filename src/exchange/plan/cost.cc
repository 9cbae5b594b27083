#include "exchange/plan/cost.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "exchange/route/tree_shape.h"

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
  Costs(const Topology& topology, const Layout& layout, const Handling& handling)
      : topology_(topology), layout_(layout), handling_(handling) {}

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
      const double handled = messages_of(transfer.bytes) *
                             (path_.size() <= 2 ? handling_.message_seconds : handling_.far_message_seconds);
      for (const LinkIndex link : path_) {
        double& load = loads[topology_.link(link).queue];
        load += transfer.bytes / topology_.link(link).bytes_per_second;
        if (link == path_.front() || link == path_.back()) load += handled;
        cost.load = std::max(cost.load, load);
      }
    }
    return cost;
  }
  // In how many pieces so many bytes travel; a last one that is short counts in proportion.
  double messages_of(double bytes) const {
    const double piece = static_cast<double>(layout_.plan.piece_elements * Demand::kElementBytes);
    return piece > 0 ? std::max(1.0, bytes / piece) : 1;
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
  const Handling& handling_;
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
  return std::max(steps * cost.load + cost.latency, steps * (cost.mean_latency + share * cost.load));
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
  const double lane = bytes * *std::max_element(shares.begin(), shares.end());
  if (costs.messages_of(lane) > 1) {
    const double piece = static_cast<double>(layout.plan.piece_elements * Demand::kElementBytes);
    return 2 * latency + (2.0 * depth - 1) * piece / lane * costs.of(up).load + costs.of(both).load;
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
  const bool rounds =
      layout.plan.route == Route::kBinomialTree && costs.messages_of(static_cast<double>(demand.bytes)) == 1;
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

// Slices follow each other through the levels.
double hierarchical_seconds(Costs& costs, const Demand& demand, const Layout& layout) {
  const double slices = layout.plan.channels;
  double bytes = static_cast<double>(demand.bytes) / slices, seconds = 0, slowest = 0;
  std::uint32_t stride = 1;
  for (const std::uint32_t level : layout.plan.levels) {
    bytes /= level;
    Round round;
    for (std::uint32_t rank = 0; rank < demand.ranks && level > 1; ++rank) {
      const std::uint32_t place = rank / stride % level;
      round.push_back({rank, rank - place * stride + (place + 1) % level * stride, bytes});
    }
    const double each = 2.0 * (level - 1) * costs.whole(round);
    seconds += each;
    slowest = std::max(slowest, each);
    stride *= level;
  }
  return seconds + (slices - 1) * slowest;
}

// Bytes that the rank which adds most adds to others. Trees: their heaviest node's.
double added_bytes(const Demand& demand, const Layout& layout) {
  const double n = demand.ranks, bytes = static_cast<double>(demand.bytes);
  const std::uint32_t folded = std::bit_floor(demand.ranks);
  const double fold = folded < demand.ranks ? bytes : 0;
  switch (layout.plan.route) {
    case Route::kRecursiveDoubling:
      return fold + bytes * std::log2(folded);
    case Route::kHalvingDoubling:
      return fold + bytes * (folded - 1) / folded;
    case Route::kStar:
      return bytes * (n - 1);
    case Route::kBinomialTree:
      return bytes * std::ceil(std::log2(n));
    case Route::kTree:
      return bytes * layout.plan.fanout;
    case Route::kChain:
    case Route::kDoubleTree:
    case Route::kPackedTrees:
      return bytes;
    case Route::kServers:
    case Route::kSpareServers:
      return bytes * n / std::max<double>(1, layout.plan.servers);
    default:
      return bytes * (n - 1) / n;
  }
}

// Bytes that a rank sends of blocks which it has not just received. Rings and spread pass on each piece at
// once and begin with one block; doubling sends, after each round, what it had of the last one.
double fetched_bytes(const Demand& demand, const Layout& layout, double cache_bytes) {
  const double n = demand.ranks, bytes = static_cast<double>(demand.bytes);
  const auto cold = [cache_bytes](double block) { return block > cache_bytes ? block : 0; };
  switch (layout.plan.route) {
    case Route::kHalvingDoubling: {
      double sum = 0;
      for (std::uint32_t parts = 2; parts <= demand.ranks; parts *= 2) sum += 2 * cold(bytes / parts);
      return sum;
    }
    case Route::kRing:
    case Route::kBidirectionalRing:
    case Route::kRings:
      return cold(bytes / n);
    case Route::kSpread:
      return (n - 1) * cold(bytes / n);
    case Route::kHierarchical: {
      double sum = 0, block = bytes;
      for (const std::uint32_t level : layout.plan.levels) sum += cold(block /= level);
      return sum;
    }
    default:
      return cold(bytes);
  }
}

bool is_half(Operation operation) {
  return operation == Operation::kReduce || operation == Operation::kBroadcast ||
         operation == Operation::kReduceScatter || operation == Operation::kAllGather ||
         operation == Operation::kGather || operation == Operation::kScatter;
}

double moving_seconds(Costs& costs, const Demand& demand, const Layout& layout) {
  switch (layout.plan.route) {
    case Route::kRing:
    case Route::kRings:
    case Route::kBidirectionalRing:
      return ring_seconds(costs, demand, layout);
    case Route::kSpread:
    case Route::kServers:
    case Route::kSpareServers:
      return owners_seconds(costs, demand, layout);
    case Route::kRecursiveDoubling:
    case Route::kHalvingDoubling:
      return doubling_seconds(costs, demand, layout);
    case Route::kHierarchical:
      return hierarchical_seconds(costs, demand, layout);
    default:
      return trees_seconds(costs, demand, layout);
  }
}

}  // namespace

double predicted_seconds(const Topology& topology, const Demand& demand, const Layout& layout,
                         const Handling& handling) {
  if (demand.ranks <= 1) return 0;
  Costs costs(topology, layout, handling);
  const double moving = moving_seconds(costs, demand, layout) +
                        handling.fetch_seconds_per_byte * fetched_bytes(demand, layout, handling.cache_bytes);
  return (is_half(demand.operation) ? 0.5 : 1) * moving +
         (combines(demand.operation) ? handling.add_seconds_per_byte * added_bytes(demand, layout) : 0);
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
