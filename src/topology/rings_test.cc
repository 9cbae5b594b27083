#include "topology/rings.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "topology/presets.h"

namespace thalweg {
namespace {

double total(const std::vector<WeightedRing>& rings) {
  double sum = 0;
  for (const WeightedRing& ring : rings) sum += ring.weight;
  return sum;
}

void expect_rings_within_capacity(std::uint32_t nodes, const std::vector<CapacityEdge>& edges,
                                  const std::vector<WeightedRing>& rings) {
  std::vector<double> load(edges.size(), 0);
  for (const WeightedRing& ring : rings) {
    ASSERT_GT(ring.weight, 0);
    ASSERT_EQ(ring.order.size(), nodes);
    ASSERT_EQ(ring.order[0], 0u);
    ASSERT_EQ(std::set<std::uint32_t>(ring.order.begin(), ring.order.end()).size(), nodes);
    for (std::uint32_t i = 0; i < (nodes == 2 ? 1 : nodes); ++i) {
      const std::uint32_t a = ring.order[i], b = ring.order[(i + 1) % nodes];
      const auto edge = std::find_if(edges.begin(), edges.end(), [&](const CapacityEdge& e) {
        return std::minmax(e.a, e.b) == std::minmax(a, b);
      });
      ASSERT_NE(edge, edges.end());
      load[static_cast<std::size_t>(edge - edges.begin())] += ring.weight;
    }
  }
  for (std::size_t i = 0; i < edges.size(); ++i) ASSERT_LE(load[i], edges[i].capacity);
}

TEST(Rings, Dgx1vIsADoubleAndASingleRing) {
  const std::vector<CapacityEdge> edges = direct_edges(*preset("dgx1v"));
  const auto rings = find_rings(8, edges);
  ASSERT_TRUE(rings) << rings.status().message();
  expect_rings_within_capacity(8, edges, *rings);
  ASSERT_EQ(rings->size(), 2u);
  EXPECT_EQ(rings->at(0).weight, 36e9);
  EXPECT_EQ(rings->at(1).weight, 18e9);
  // Every cable is full, so that the rings share none: eight of 36 and eight of 18 GB/s.
  EXPECT_EQ(rings->at(0).order, (std::vector<std::uint32_t>{0, 3, 2, 1, 5, 6, 7, 4}));
  EXPECT_EQ(rings->at(1).order, (std::vector<std::uint32_t>{0, 1, 3, 7, 5, 4, 6, 2}));
}

TEST(Rings, GpusThatAreLeftFindWhatRingsThereAre) {
  const std::vector<CapacityEdge> all = direct_edges(*preset("dgx1v"));
  for (std::uint32_t gone = 0; gone < 8; ++gone) {
    std::vector<CapacityEdge> edges;
    const auto number = [&](std::uint32_t gpu) { return gpu - (gpu > gone); };
    for (const CapacityEdge& edge : all) {
      if (edge.a != gone && edge.b != gone) edges.push_back({number(edge.a), number(edge.b), edge.capacity});
    }
    const auto rings = find_rings(7, edges);
    ASSERT_TRUE(rings);
    expect_rings_within_capacity(7, edges, *rings);
    EXPECT_EQ(total(*rings), 36e9) << "without " << gone;
  }
}

TEST(Rings, ACompleteGraphOfFiveIsTwoRings) {
  std::vector<CapacityEdge> edges;
  for (std::uint32_t a = 0; a < 5; ++a) {
    for (std::uint32_t b = a + 1; b < 5; ++b) edges.push_back({a, b, 3});
  }
  const auto rings = find_rings(5, edges);
  ASSERT_TRUE(rings);
  expect_rings_within_capacity(5, edges, *rings);
  EXPECT_EQ(rings->size(), 2u);
  EXPECT_EQ(total(*rings), 6);
}

TEST(Rings, ALargeCompleteGraphIsCutShort) {
  std::vector<CapacityEdge> edges;
  for (std::uint32_t a = 0; a < 40; ++a) {
    for (std::uint32_t b = a + 1; b < 40; ++b) edges.push_back({a, b, 1});
  }
  const auto rings = find_rings(40, edges);
  ASSERT_TRUE(rings);
  expect_rings_within_capacity(40, edges, *rings);
}

TEST(Rings, TwoRanksNeedOneCableAndATreeHasNoRing) {
  const auto pair = find_rings(2, {{0, 1, 7}});
  ASSERT_TRUE(pair);
  EXPECT_EQ(pair->size(), 1u);
  EXPECT_EQ(total(*pair), 7);
  EXPECT_EQ(
      find_rings(3, {{0, 1, 1}, {1, 2, 1}}).status().message(),
      "no ring: expected direct cables that lead through all 3 ranks and back, of which there must be two or "
      "more");
  EXPECT_EQ(find_rings(1, {}).status().code(), Code::kUsage);
}

}  // namespace
}  // namespace thalweg
