#include "topology/topology.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <tuple>
#include <utility>

#include "topology/room_for_test.h"

namespace thalweg {
namespace {

constexpr std::uint32_t kNoPlace[kLevels] = {kNowhere, kNowhere, kNowhere};

Topology made(Room room) {
  Result<Topology> topology = Topology::make(std::move(room));
  EXPECT_TRUE(topology) << topology.status().message();
  return *std::move(topology);
}

std::string refusal(Room room) {
  const Result<Topology> topology = Topology::make(std::move(room));
  return topology ? "" : topology.status().message();
}

// Fewest links, least latency, between two nodes; devices pass nothing on. Bellman and Ford's way.
std::pair<std::uint32_t, std::uint64_t> shortest(const Topology& topology, NodeIndex from, NodeIndex to) {
  using Cost = std::pair<std::uint32_t, std::uint64_t>;
  std::vector<Cost> cost(topology.node_count(), Cost{1u << 30, 0});
  cost[from] = {0, 0};
  for (std::uint32_t round = 0; round < topology.node_count(); ++round) {
    for (LinkIndex i = 0; i < topology.link_count(); ++i) {
      const DirectedLink& link = topology.link(i);
      if (link.from != from && topology.node(link.from).kind == NodeKind::kDevice) continue;
      const Cost through{cost[link.from].first + 1, cost[link.from].second + link.latency_ns};
      cost[link.to] = std::min(cost[link.to], through);
    }
  }
  return cost[to];
}

void expect_shortest_paths(const Topology& topology) {
  std::vector<LinkIndex> path;
  for (std::uint32_t a = 0; a < topology.endpoint_count(); ++a) {
    for (std::uint32_t b = 0; b < topology.endpoint_count(); ++b) {
      topology.path(a, b, path);
      NodeIndex at = topology.endpoint_node(a);
      for (const LinkIndex link : path) {
        ASSERT_EQ(topology.link(link).from, at);
        at = topology.link(link).to;
      }
      ASSERT_EQ(at, topology.endpoint_node(b));
      const auto best = shortest(topology, topology.endpoint_node(a), topology.endpoint_node(b));
      ASSERT_EQ(std::make_pair(static_cast<std::uint32_t>(path.size()), topology.latency_ns(path)), best)
          << topology.name() << ": " << a << " to " << b;
    }
  }
}

// A random room: forwarders joined by a tree and some more cables, devices on one or two of them or on each
// other.
Room random_room(std::mt19937& random, std::uint32_t more_cables) {
  const auto below = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
  Room room;
  room.name = "random";
  const std::uint32_t forwarders = 1 + below(12), devices = 1 + below(8);
  std::vector<std::pair<NodeIndex, NodeIndex>> joined;
  const auto join = [&](NodeIndex a, NodeIndex b) {
    const auto pair = std::minmax(a, b);
    if (a == b ||
        std::find(joined.begin(), joined.end(), std::make_pair(pair.first, pair.second)) != joined.end()) {
      return;
    }
    joined.emplace_back(pair.first, pair.second);
    room.cables.push_back({a, b, {1e9, below(3)}, {2e9, below(3)}, below(2) == 0});
  };
  for (NodeIndex i = 0; i < forwarders; ++i) {
    const NodeKind kind = below(4) == 0 ? NodeKind::kHost : NodeKind::kSwitch;
    room.add(kind, fmt::format("f{}", i), kNoPlace);
    if (kind == NodeKind::kHost) room.spares.push_back(i);
    if (i > 0) join(i, below(i));
  }
  for (std::uint32_t i = 0; i < more_cables; ++i) join(below(forwarders), below(forwarders));
  for (std::uint32_t i = 0; i < devices; ++i) {
    const NodeIndex device = room.add(NodeKind::kDevice, fmt::format("d{}", i), kNoPlace);
    room.ranks.push_back(device);
    join(device, below(forwarders));
    if (below(3) == 0) join(device, below(device));
  }
  return room;
}

TEST(Topology, TakesTheShortestWayThroughTreesAndCyclesAndDirectLinks) {
  std::mt19937 random(7);
  for (int round = 0; round < 150; ++round) {
    expect_shortest_paths(made(random_room(random, static_cast<std::uint32_t>(round % 9))));
    if (HasFatalFailure()) return;
  }
}

TEST(Topology, GivesADirectCableBeforeASwitchAndSharesAHalfDuplexOne) {
  Room room;
  room.name = "pair";
  for (const char* name : {"a", "b", "c"}) room.ranks.push_back(room.add(NodeKind::kDevice, name, kNoPlace));
  const NodeIndex hub = room.add(NodeKind::kSwitch, "hub", kNoPlace);
  for (NodeIndex i = 0; i < 3; ++i) room.connect(i, hub, {1e9, 100});
  room.cables.push_back({0, 1, {5e9, 700}, {4e9, 700}, true});
  const Topology topology = made(room);
  std::vector<LinkIndex> path;
  topology.path(0, 1, path);
  ASSERT_EQ(path, std::vector<LinkIndex>{6});
  topology.path(1, 0, path);
  ASSERT_EQ(path, std::vector<LinkIndex>{7});
  EXPECT_EQ(topology.link(6).queue, topology.link(7).queue);
  EXPECT_NE(topology.link(0).queue, topology.link(1).queue);
  EXPECT_EQ(topology.link_name(7), "b -> a");
  topology.path(2, 0, path);
  EXPECT_EQ(path, (std::vector<LinkIndex>{4, 1}));
  EXPECT_EQ(topology.latency_ns(path), 200u);
  EXPECT_EQ(narrowest(topology, path), 1e9);
  const std::vector<DirectLink> direct = topology.direct_links();
  ASSERT_EQ(direct.size(), 2u);
  EXPECT_EQ(std::tie(direct[0].from, direct[0].to, direct[0].bytes_per_second, direct[0].link),
            std::make_tuple(0u, 1u, 5e9, 6u));
}

TEST(Topology, KnowsThePlacesOfRanks) {
  const auto levels = [](const std::vector<std::array<std::uint32_t, kLevels>>& places) {
    Room room;
    room.name = "places";
    const NodeIndex hub = room.add(NodeKind::kSwitch, "hub", kNoPlace);
    for (const auto& place : places) {
      room.ranks.push_back(room.add(NodeKind::kDevice, "d", {place[0], place[1], place[2]}));
      room.connect(hub, room.ranks.back(), {1, 0});
    }
    return made(room).even_levels();
  };
  using Sizes = std::vector<std::uint32_t>;
  const std::uint32_t none = kNowhere;
  EXPECT_EQ(levels({{none, none, none}, {none, none, none}}), Sizes{2});
  EXPECT_EQ(levels({{0, none, none}, {0, none, none}}), Sizes{2});
  EXPECT_EQ(levels({{0, 0, 0}, {0, 0, 0}, {1, 0, 0}, {1, 0, 0}}), (Sizes{2, 2}));
  EXPECT_EQ(levels({{0, 0, 0}, {0, 0, 0}, {1, 0, 0}, {1, 0, 0}, {2, 1, 0}, {2, 1, 0}, {3, 1, 0}, {3, 1, 0}}),
            (Sizes{2, 2, 2}));
  EXPECT_EQ(levels({{0, 0, 0}, {1, 0, 0}, {2, 1, 1}, {3, 1, 1}}), (Sizes{2, 2}));
  EXPECT_EQ(levels({{0, none, none}, {0, none, none}, {1, none, none}}), Sizes{3});
  EXPECT_EQ(levels({{0, none, none}, {1, none, none}, {0, none, none}, {1, none, none}}), Sizes{4});
}

TEST(Topology, RefusesWhatIsNoNetwork) {
  Room room;
  room.name = "bad";
  EXPECT_EQ(refusal(room), "bad: no rank; expected at least one device");
  room.ranks.push_back(room.add(NodeKind::kDevice, "a", kNoPlace));
  room.ranks.push_back(room.add(NodeKind::kDevice, "b", kNoPlace));
  EXPECT_EQ(refusal(room), "bad: no way from 'a' to 'b'; expected links over switches, hosts or NICs");
  room.connect(0, 1, {1, 0});
  EXPECT_EQ(refusal(room), "");
  room.connect(1, 0, {1, 0});
  EXPECT_EQ(refusal(room), "bad: two links between 'a' and 'b'; expected one, with the bandwidth of both");
  room.cables.back().b = 1;
  EXPECT_EQ(refusal(room), "bad: link 'b' - 'b' joins a node to itself; expected two nodes");
  room.cables.back() = {0, 1, {1, 0}, {0, 0}};
  EXPECT_EQ(refusal(room), "bad: link 'a' - 'b' has no bandwidth; expected a positive one");
  room.cables.pop_back();
  room.ranks.push_back(0);
  EXPECT_EQ(refusal(room), "bad: node 'a' is two ranks; expected one");
  room.ranks.back() = room.add(NodeKind::kDevice, "c", kNoPlace);
  room.connect(1, 2, {1, 0});  // A device passes nothing on.
  EXPECT_EQ(refusal(room), "bad: no way from 'a' to 'c'; expected links over switches, hosts or NICs");
}

TEST(Topology, BoundsTheTablesOfCycles) {
  Room room;
  room.name = "ring";
  const std::uint32_t size = Topology::kCoreNodesMax + 1;
  for (NodeIndex i = 0; i < size; ++i) room.add(NodeKind::kSwitch, "s", kNoPlace);
  for (NodeIndex i = 0; i < size; ++i) room.connect(i, (i + 1) % size, {1, 0});
  room.ranks.push_back(room.add(NodeKind::kDevice, "d", kNoPlace));
  room.connect(0, room.ranks[0], {1, 0});
  EXPECT_EQ(refusal(room), "ring: 1025 switches, hosts and NICs lie on cycles; expected at most 1024");
}

}  // namespace
}  // namespace thalweg
