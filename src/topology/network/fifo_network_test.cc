#include "topology/network/fifo_network.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "topology/network/star_for_test.h"

namespace thalweg {
namespace {

TEST(FifoNetwork, CutsThroughAndPaysEachLatencyOnce) {
  const Topology topology = star(2);
  FifoNetwork network(topology);
  const auto flow = network.open(0, 1);
  network.send(flow, 1'000'000);
  EXPECT_EQ(drain(network), (std::vector<Seen>{{flow, kMs + 2'000'000}}));
  EXPECT_EQ(network.events(), 1u) << "nothing waited";
}

TEST(FifoNetwork, KeepsBothDirectionsApart) {
  const Topology topology = star(2);
  FifoNetwork network(topology);
  const auto there = network.open(0, 1), back = network.open(1, 0);
  network.send(there, 1'000'000);
  network.send(back, 1'000'000);
  EXPECT_EQ(drain(network), (std::vector<Seen>{{there, kMs + 2'000'000}, {back, kMs + 2'000'000}}));
}

TEST(FifoNetwork, QueuesWhatMeetsAtAPort) {
  const Topology topology = star(4);
  FifoNetwork network(topology);
  std::vector<Network::Flow> flows;
  for (std::uint32_t from = 1; from < 4; ++from) flows.push_back(network.open(from, 0));
  for (const auto flow : flows) network.send(flow, 1'000'000);
  const auto seen = drain(network);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(seen[i], (Seen{flows[i], (i + 1) * kMs + 2'000'000}));
  const auto bytes = network.link_bytes();
  EXPECT_EQ(std::count(bytes.begin(), bytes.end(), 1'000'000u), 3);
  EXPECT_EQ(std::count(bytes.begin(), bytes.end(), 3'000'000u), 1);
}

TEST(FifoNetwork, LetsNobodyInBeforeThoseWhoWaitAtTheMomentALinkBecomesFree) {
  const Topology topology = star(2);
  FifoNetwork network(topology);
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

TEST(FifoNetwork, LetsWhatComesFirstGoFirstWhereverItWasSent) {
  const Topology topology = star(3);
  FifoNetwork network(topology);
  const auto long_one = network.open(1, 2), behind = network.open(1, 0), other = network.open(2, 0);
  network.send(long_one, 3'000'000);
  network.send(behind, 1'000'000);  // Leaves only after 3 ms.
  network.send(other, 2'000'000);
  EXPECT_EQ(drain(network), (std::vector<Seen>{{other, 2 * kMs + 2'000'000},
                                               {long_one, 3 * kMs + 2'000'000},
                                               {behind, 4 * kMs + 2'000'000}}));
}

// Eight senders of 1 GB/s fill a trunk of 8 GB/s and nothing waits for longer than the trunk needs.
TEST(FifoNetwork, FillsALinkThatIsFasterThanItsSenders) {
  Room room;
  const NodeIndex left = room.add(NodeKind::kSwitch, "left", kNoPlaceForTest);
  const NodeIndex right = room.add(NodeKind::kSwitch, "right", kNoPlaceForTest);
  room.connect(left, right, {8e9, 0});
  for (std::uint32_t i = 0; i < 16; ++i) {
    room.ranks.push_back(room.add(NodeKind::kDevice, fmt::format("n{}", i), kNoPlaceForTest));
    room.connect(room.ranks.back(), i < 8 ? left : right, {1e9, 0});
  }
  const auto topology = Topology::make(room);
  ASSERT_TRUE(topology.ok());
  FifoNetwork network(*topology);
  for (std::uint32_t i = 0; i < 8; ++i) network.send(network.open(i, 8 + i), 1'000'000);
  for (const Seen& seen : drain(network)) EXPECT_LE(seen.at, 2 * kMs);
}

TEST(FifoNetwork, TakesTurnsOnASharedCable) {
  Room room;
  for (const char* name : {"a", "b"})
    room.ranks.push_back(room.add(NodeKind::kDevice, name, kNoPlaceForTest));
  room.cables.push_back({0, 1, {1e9, 0}, {1e9, 0}, true});
  const auto topology = Topology::make(room);
  ASSERT_TRUE(topology.ok());
  FifoNetwork network(*topology);
  const auto there = network.open(0, 1), back = network.open(1, 0);
  network.send(there, 1'000'000);
  network.send(back, 1'000'000);
  EXPECT_EQ(drain(network), (std::vector<Seen>{{there, kMs}, {back, 2 * kMs}}));
}

TEST(FifoNetwork, SendsLaterWhatItIsToldTo) {
  const Topology topology = star(2);
  FifoNetwork network(topology);
  const auto flow = network.open(0, 1);
  network.send_at(flow, 1'000'000, 5 * kMs);
  network.alarm(flow, 2 * kMs, 7);
  Network::Arrival arrival;
  ASSERT_TRUE(network.next(arrival));
  EXPECT_TRUE(arrival.is_alarm());
  EXPECT_EQ(arrival.bytes, 7u);
  EXPECT_EQ(network.now(), 2 * kMs);
  ASSERT_TRUE(network.next(arrival));
  EXPECT_FALSE(arrival.is_alarm());
  EXPECT_EQ(network.now(), 6 * kMs + 2'000'000);
}

TEST(FifoNetwork, RecordsWhatPassesEachLink) {
  const Topology topology = star(2);
  FifoNetwork network(topology);
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
