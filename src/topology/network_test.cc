#include "topology/network.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace thalweg {
namespace {

constexpr std::uint32_t kNoPlace[kLevels] = {kNowhere, kNowhere, kNowhere};
constexpr Picoseconds kMs = 1'000'000'000;

// Machines on an ideal switch: 1 MB takes 1 ms on each of the two links, the first of which adds 2 us.
Topology star(std::uint32_t ranks) {
  Room room;
  const NodeIndex hub = room.add(NodeKind::kSwitch, "hub", kNoPlace);
  for (std::uint32_t i = 0; i < ranks; ++i) {
    room.ranks.push_back(room.add(NodeKind::kDevice, fmt::format("n{}", i), kNoPlace));
    room.cables.push_back({room.ranks.back(), hub, {1e9, 2000}, {1e9, 0}});
  }
  auto made = Topology::make(std::move(room));
  EXPECT_TRUE(made.ok()) << made.status().message();
  return *std::move(made);
}

struct Seen {
  Network::Flow flow;
  Picoseconds at;
  bool operator==(const Seen&) const = default;
};
std::vector<Seen> drain(Network& network) {
  std::vector<Seen> seen;
  Network::Arrival arrival;
  while (network.next(arrival)) seen.push_back({arrival.flow, network.now()});
  return seen;
}

TEST(Network, CutsThroughAndPaysEachLatencyOnce) {
  const Topology topology = star(2);
  Network network(topology);
  const auto flow = network.open(0, 1);
  network.send(flow, 1'000'000);
  EXPECT_EQ(drain(network), (std::vector<Seen>{{flow, kMs + 2'000'000}}));
  EXPECT_EQ(network.events(), 1u) << "nothing waited";
}

TEST(Network, KeepsBothDirectionsApart) {
  const Topology topology = star(2);
  Network network(topology);
  const auto there = network.open(0, 1), back = network.open(1, 0);
  network.send(there, 1'000'000);
  network.send(back, 1'000'000);
  EXPECT_EQ(drain(network), (std::vector<Seen>{{there, kMs + 2'000'000}, {back, kMs + 2'000'000}}));
}

TEST(Network, QueuesWhatMeetsAtAPort) {
  const Topology topology = star(4);
  Network network(topology);
  std::vector<Network::Flow> flows;
  for (std::uint32_t from = 1; from < 4; ++from) flows.push_back(network.open(from, 0));
  for (const auto flow : flows) network.send(flow, 1'000'000);
  const auto seen = drain(network);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(seen[i], (Seen{flows[i], (i + 1) * kMs + 2'000'000}));
  const auto bytes = network.link_bytes();
  EXPECT_EQ(std::count(bytes.begin(), bytes.end(), 1'000'000u), 3);
  EXPECT_EQ(std::count(bytes.begin(), bytes.end(), 3'000'000u), 1);
}

TEST(Network, LetsNobodyInBeforeThoseWhoWaitAtTheMomentALinkBecomesFree) {
  const Topology topology = star(2);
  Network network(topology);
  const auto flow = network.open(0, 1), clock = network.open(0, 0);
  network.alarm(clock, kMs);  // Goes before the link's own event of that moment.
  network.send(flow, 1'000'000);
  network.send(flow, 3'000'000);
  Network::Arrival arrival;
  ASSERT_TRUE(network.next(arrival));
  ASSERT_EQ(arrival.flow, clock);
  network.send(flow, 2'000'000);
  EXPECT_EQ(
      drain(network),
      (std::vector<Seen>{{flow, kMs + 2'000'000}, {flow, 4 * kMs + 2'000'000}, {flow, 6 * kMs + 2'000'000}}));
}

TEST(Network, LetsWhatComesFirstGoFirstWhereverItWasSent) {
  const Topology topology = star(3);
  Network network(topology);
  const auto long_one = network.open(1, 2), behind = network.open(1, 0), other = network.open(2, 0);
  network.send(long_one, 3'000'000);
  network.send(behind, 1'000'000);  // Leaves only after 3 ms.
  network.send(other, 2'000'000);
  EXPECT_EQ(drain(network), (std::vector<Seen>{{other, 2 * kMs + 2'000'000},
                                               {long_one, 3 * kMs + 2'000'000},
                                               {behind, 4 * kMs + 2'000'000}}));
}

// Eight senders of 1 GB/s fill a trunk of 8 GB/s and nothing waits for longer than the trunk needs.
TEST(Network, FillsALinkThatIsFasterThanItsSenders) {
  Room room;
  const NodeIndex left = room.add(NodeKind::kSwitch, "left", kNoPlace);
  const NodeIndex right = room.add(NodeKind::kSwitch, "right", kNoPlace);
  room.connect(left, right, {8e9, 0});
  for (std::uint32_t i = 0; i < 16; ++i) {
    room.ranks.push_back(room.add(NodeKind::kDevice, fmt::format("n{}", i), kNoPlace));
    room.connect(room.ranks.back(), i < 8 ? left : right, {1e9, 0});
  }
  const auto topology = Topology::make(room);
  ASSERT_TRUE(topology.ok());
  Network network(*topology);
  for (std::uint32_t i = 0; i < 8; ++i) network.send(network.open(i, 8 + i), 1'000'000);
  for (const Seen& seen : drain(network)) EXPECT_LE(seen.at, 2 * kMs);
}

TEST(Network, TakesTurnsOnASharedCable) {
  Room room;
  for (const char* name : {"a", "b"}) room.ranks.push_back(room.add(NodeKind::kDevice, name, kNoPlace));
  room.cables.push_back({0, 1, {1e9, 0}, {1e9, 0}, true});
  const auto topology = Topology::make(room);
  ASSERT_TRUE(topology.ok());
  Network network(*topology);
  const auto there = network.open(0, 1), back = network.open(1, 0);
  network.send(there, 1'000'000);
  network.send(back, 1'000'000);
  EXPECT_EQ(drain(network), (std::vector<Seen>{{there, kMs}, {back, 2 * kMs}}));
}

TEST(Network, RecordsWhatPassesEachLink) {
  const Topology topology = star(2);
  Network network(topology);
  std::vector<Network::Transfer> transfers;
  network.record(&transfers);
  network.send(network.open(0, 1), 1'000'000);
  drain(network);
  ASSERT_EQ(transfers.size(), 2u);
  EXPECT_EQ(transfers[0].end - transfers[0].begin, kMs);
  EXPECT_EQ(transfers[1].begin, 2'000'000u);
}

}  // namespace
}  // namespace thalweg
