#include "topology/packing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

#include "topology/presets.h"

namespace thalweg {
namespace {

// Tutte and Nash-Williams: the least, over all partitions of the nodes, of what joins the parts per part but
// one.
double partition_bound(std::uint32_t nodes, const std::vector<CapacityEdge>& edges) {
  double least = std::numeric_limits<double>::infinity();
  std::vector<std::uint32_t> part(nodes, 0);
  const auto visit = [&](const auto& self, std::uint32_t node, std::uint32_t parts) -> void {
    if (node == nodes) {
      if (parts < 2) return;
      double between = 0;
      for (const CapacityEdge& edge : edges) between += part[edge.a] != part[edge.b] ? edge.capacity : 0;
      least = std::min(least, between / (parts - 1));
      return;
    }
    for (std::uint32_t p = 0; p <= parts; ++p) {
      part[node] = p;
      self(self, node + 1, std::max(parts, p + 1));
    }
  };
  visit(visit, 0, 0);
  return least;
}

void expect_spanning_within_capacity(std::uint32_t nodes, const std::vector<CapacityEdge>& edges,
                                     const TreePacking& packing) {
  std::vector<double> load(edges.size(), 0);
  double sum = 0;
  for (const PackedTree& tree : packing.trees) {
    ASSERT_GT(tree.weight, 0);
    ASSERT_EQ(tree.parent.size(), nodes);
    ASSERT_EQ(tree.parent[tree.root], -1);
    sum += tree.weight;
    for (std::uint32_t node = 0; node < nodes; ++node) {
      std::uint32_t at = node, steps = 0;
      for (; tree.parent[at] >= 0 && steps < nodes; ++steps) at = static_cast<std::uint32_t>(tree.parent[at]);
      ASSERT_EQ(at, tree.root);
      if (node == tree.root) continue;
      const auto up = static_cast<std::uint32_t>(tree.parent[node]);
      const auto edge = std::find_if(edges.begin(), edges.end(), [&](const CapacityEdge& e) {
        return std::minmax(e.a, e.b) == std::minmax(node, up);
      });
      ASSERT_NE(edge, edges.end());
      load[static_cast<std::size_t>(edge - edges.begin())] += tree.weight;
    }
  }
  for (std::size_t i = 0; i < edges.size(); ++i) ASSERT_LE(load[i], edges[i].capacity * (1 + 1e-12));
  ASSERT_NEAR(sum, packing.rate, 1e-9 * packing.rate);
}

// The edges among the nodes of `kept`, renumbered.
std::vector<CapacityEdge> among(const std::vector<CapacityEdge>& edges,
                                const std::vector<std::uint32_t>& kept) {
  std::vector<CapacityEdge> left;
  for (const CapacityEdge& edge : edges) {
    const auto a = std::find(kept.begin(), kept.end(), edge.a),
               b = std::find(kept.begin(), kept.end(), edge.b);
    if (a == kept.end() || b == kept.end()) continue;
    left.push_back({static_cast<std::uint32_t>(a - kept.begin()),
                    static_cast<std::uint32_t>(b - kept.begin()), edge.capacity});
  }
  return left;
}

// The capacity of the best ring through all nodes, by trying every order; 0 when there is none.
double best_ring(std::uint32_t nodes, const std::vector<CapacityEdge>& edges) {
  std::vector<std::vector<double>> capacity(nodes, std::vector<double>(nodes, 0));
  for (const CapacityEdge& edge : edges) capacity[edge.a][edge.b] = capacity[edge.b][edge.a] = edge.capacity;
  std::vector<std::uint32_t> order(nodes);
  for (std::uint32_t i = 0; i < nodes; ++i) order[i] = i;
  double best = 0;
  do {
    double least = std::numeric_limits<double>::infinity();
    for (std::uint32_t i = 0; i < nodes; ++i)
      least = std::min(least, capacity[order[i]][order[(i + 1) % nodes]]);
    best = std::max(best, least);
  } while (std::next_permutation(order.begin() + 1, order.end()));
  return best;
}

void expect_best(std::uint32_t nodes, const std::vector<CapacityEdge>& edges) {
  const double bound = partition_bound(nodes, edges);
  const Result<TreePacking> packing = pack_trees(nodes, edges);
  if (bound == 0) {
    EXPECT_EQ(packing.status().code(), Code::kUsage);
    return;
  }
  ASSERT_TRUE(packing) << packing.status().message();
  expect_spanning_within_capacity(nodes, edges, *packing);
  EXPECT_NEAR(packing->rate, bound, 1e-7 * bound);
}

TEST(Packing, Dgx1vHoldsTwentyFourSeventhsOfATree) {
  const std::vector<CapacityEdge> edges = direct_edges(*preset("dgx1v"));
  ASSERT_EQ(edges.size(), 16u);
  const Result<TreePacking> packing = pack_trees(8, edges);
  ASSERT_TRUE(packing);
  expect_spanning_within_capacity(8, edges, *packing);
  EXPECT_NEAR(packing->rate / 18e9, 24.0 / 7, 1e-7);
  EXPECT_NEAR(160e6 / packing->rate, 2.59e-3, 0.005e-3);
  EXPECT_LE(packing->trees.size(), 16u);
  const Result<TreePacking> fewer = pack_trees(8, edges, 0.05);
  expect_spanning_within_capacity(8, edges, *fewer);
  EXPECT_LT(fewer->trees.size(), packing->trees.size());
  EXPECT_GE(fewer->rate, 0.95 * packing->rate * (1 - 1e-7));
}

TEST(Packing, Dgx1vWithoutOneOrTwoGpusReachesTheBoundAndIsNotSlowerThanItsBestRing) {
  const std::vector<CapacityEdge> all = direct_edges(*preset("dgx1v"));
  for (std::uint32_t x = 0; x < 8; ++x) {
    for (std::uint32_t y = x; y < 8; ++y) {
      std::vector<std::uint32_t> kept;
      for (std::uint32_t gpu = 0; gpu < 8; ++gpu) {
        if (gpu != x && gpu != y) kept.push_back(gpu);
      }
      const auto nodes = static_cast<std::uint32_t>(kept.size());
      const std::vector<CapacityEdge> edges = among(all, kept);
      expect_best(nodes, edges);
      const double ring = best_ring(nodes, edges) * nodes / (nodes - 1);  // Both ways at once.
      EXPECT_GE(pack_trees(nodes, edges)->rate, ring * (1 - 1e-7)) << "without " << x << " and " << y;
    }
  }
}

TEST(Packing, ReachesTheBoundOnRandomGraphs) {
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    const auto nodes = static_cast<std::uint32_t>(2 + random() % 6);
    std::vector<CapacityEdge> edges;
    for (std::uint32_t a = 0; a < nodes; ++a) {
      for (std::uint32_t b = a + 1; b < nodes; ++b) {
        const auto share = [&] { return static_cast<double>(1 + static_cast<std::uint32_t>(random() % 40)); };
        if (random() % 3 > 0) edges.push_back({a, b, share() / share()});
      }
    }
    expect_best(nodes, edges);
    if (HasFatalFailure()) return;
  }
}

TEST(Packing, SharedCablesCountHalf) {
  Room room;
  const std::uint32_t place[kLevels] = {0, kNowhere, kNowhere};
  for (const char* name : {"a", "b"}) room.ranks.push_back(room.add(NodeKind::kDevice, name, place));
  room.cables.push_back({0, 1, {8, 0}, {6, 0}, false});
  EXPECT_EQ(direct_edges(*Topology::make(room))[0].capacity, 6);
  room.cables[0].shared = true;
  EXPECT_EQ(direct_edges(*Topology::make(room))[0].capacity, 3);
}

TEST(Packing, RefusesWhatHasNoTree) {
  EXPECT_EQ(
      pack_trees(3, {{0, 1, 1}}).status().message(),
      "no spanning tree: expected direct cables that join all 3 ranks, of which there must be two or more");
  EXPECT_EQ(pack_trees(2, {{0, 1, 0}}).status().code(), Code::kUsage);
  EXPECT_EQ(pack_trees(2, {{0, 2, 1}}).status().code(), Code::kUsage);
}

}  // namespace
}  // namespace thalweg
