#include "topology/packing.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "topology/column_simplex.h"

namespace thalweg {
namespace {

double total(const std::vector<WeightedColumn>& columns) {
  double sum = 0;
  for (const WeightedColumn& column : columns) sum += column.weight;
  return sum;
}

// Kruskal's cheapest spanning tree, as edge numbers; none where the graph is not connected.
std::optional<Column> cheapest_tree(std::uint32_t nodes, const std::vector<CapacityEdge>& edges,
                                    const std::vector<double>& prices) {
  std::vector<std::uint32_t> order(edges.size()), group(nodes);
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&](auto x, auto y) { return prices[x] < prices[y]; });
  std::iota(group.begin(), group.end(), 0u);
  const auto find = [&](std::uint32_t node) {
    while (group[node] != node) node = group[node] = group[group[node]];
    return node;
  };
  Column tree;
  for (const std::uint32_t edge : order) {
    const std::uint32_t a = find(edges[edge].a), b = find(edges[edge].b);
    if (a == b) continue;
    group[a] = b;
    tree.push_back(edge);
  }
  if (tree.size() + 1 != nodes) return std::nullopt;
  return tree;
}

// The best use of some of the given trees alone.
std::vector<WeightedColumn> reweigh(const std::vector<double>& capacities,
                                    const std::vector<WeightedColumn>& pool) {
  return maximise(capacities, [&](const std::vector<double>& prices) {
    const Column* best = nullptr;
    double least = 0;
    for (const WeightedColumn& tree : pool) {
      double price = 0;
      for (const std::uint32_t edge : tree.rows) price += prices[edge];
      if (best == nullptr || price < least) best = &tree.rows, least = price;
    }
    return best == nullptr ? std::optional<Column>() : std::optional<Column>(*best);
  });
}

void sort_by_weight(std::vector<WeightedColumn>& columns) {
  std::stable_sort(columns.begin(), columns.end(),
                   [](const auto& x, const auto& y) { return x.weight > y.weight; });
}

// Drops trees, the lightest first, while the others can make up for them.
void drop_trees(const std::vector<double>& capacities, double least, std::vector<WeightedColumn>& trees) {
  sort_by_weight(trees);
  for (std::size_t i = trees.size(); i-- > 0 && trees.size() > 1;) {
    std::vector<WeightedColumn> others = trees;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    others = reweigh(capacities, others);
    if (total(others) < least) continue;
    sort_by_weight(others);
    trees = std::move(others);
    i = trees.size();
  }
}

// Parents by breadth-first search from `root`; what is returned is the depth.
std::uint32_t hang(std::uint32_t root, const std::vector<std::vector<std::uint32_t>>& neighbours,
                   std::vector<std::int32_t>& parent) {
  parent.assign(neighbours.size(), -1);
  std::vector<std::uint32_t> queue{root}, depth(neighbours.size(), 0);
  for (std::size_t next = 0; next < queue.size(); ++next) {
    for (const std::uint32_t other : neighbours[queue[next]]) {
      if (static_cast<std::int32_t>(other) == parent[queue[next]]) continue;
      parent[other] = static_cast<std::int32_t>(queue[next]);
      depth[other] = depth[queue[next]] + 1;
      queue.push_back(other);
    }
  }
  return depth[queue.back()];
}

PackedTree rooted(std::uint32_t nodes, const std::vector<CapacityEdge>& edges, const WeightedColumn& column) {
  std::vector<std::vector<std::uint32_t>> neighbours(nodes);
  for (const std::uint32_t edge : column.rows) {
    neighbours[edges[edge].a].push_back(edges[edge].b);
    neighbours[edges[edge].b].push_back(edges[edge].a);
  }
  PackedTree best;
  std::uint32_t least = ~0u;
  for (std::uint32_t root = 0; root < nodes; ++root) {
    std::vector<std::int32_t> parent;
    const std::uint32_t depth = hang(root, neighbours, parent);
    if (depth >= least) continue;
    least = depth;
    best = {root, std::move(parent), column.weight};
  }
  return best;
}

}  // namespace

Result<TreePacking> pack_trees(std::uint32_t nodes, const std::vector<CapacityEdge>& edges, double may_lose) {
  std::vector<double> capacities;
  for (const CapacityEdge& edge : edges) {
    if (edge.a >= nodes || edge.b >= nodes || edge.a == edge.b || !(edge.capacity > 0)) {
      return Status(Code::kUsage,
                    fmt::format("edge {} - {} of capacity {}; expected two of {} nodes and a capacity "
                                "above 0",
                                edge.a, edge.b, edge.capacity, nodes));
    }
    capacities.push_back(edge.capacity);
  }
  if (nodes < 2 || !cheapest_tree(nodes, edges, capacities)) {
    return Status(
        Code::kUsage,
        fmt::format("no spanning tree: expected direct cables that join all {} ranks, of which there "
                    "must be two or more",
                    nodes));
  }
  std::vector<WeightedColumn> columns = maximise(
      capacities, [&](const std::vector<double>& prices) { return cheapest_tree(nodes, edges, prices); });
  drop_trees(capacities, total(columns) * (1 - may_lose) * (1 - 1e-8), columns);
  TreePacking packing;
  packing.rate = total(columns);
  for (const WeightedColumn& column : columns) packing.trees.push_back(rooted(nodes, edges, column));
  return packing;
}

}  // namespace thalweg
