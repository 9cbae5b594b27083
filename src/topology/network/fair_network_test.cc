#include "topology/network/fair_network.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"
#include "topology/network/fifo_network.h"
#include "topology/network/star_for_test.h"
#include "topology/presets.h"

namespace thalweg {
namespace {

TEST(FairNetwork, TakesTwiceTheTimeForEachOfTwoFlowsThatShareAPort) {
  const Topology topology = star(3);
  FairNetwork network(topology);
  const auto a = network.open(1, 0), b = network.open(2, 0);
  network.send(a, 1'000'000);
  network.send(b, 1'000'000);
  EXPECT_EQ(drain(network), (std::vector<Seen>{{a, 2 * kMs + 2'000'000}, {b, 2 * kMs + 2'000'000}}));
}

TEST(FairNetwork, GivesAllOfAPortToWhoIsLeft) {
  const Topology topology = star(3);
  FairNetwork network(topology);
  const auto a = network.open(1, 0), b = network.open(2, 0);
  network.send(a, 1'000'000);
  network.send(b, 3'000'000);  // Half of the port for 2 ms, then all of it for 2.
  EXPECT_EQ(drain(network), (std::vector<Seen>{{a, 2 * kMs + 2'000'000}, {b, 4 * kMs + 2'000'000}}));
}

TEST(FairNetwork, SharesWithWhoComesLater) {
  const Topology topology = star(3);
  FairNetwork network(topology);
  const auto a = network.open(1, 0), b = network.open(2, 0);
  network.send(a, 2'000'000);
  network.send_at(b, 1'000'000, kMs);  // One half of `a` is left: both take 2 ms.
  EXPECT_EQ(drain(network), (std::vector<Seen>{{b, 3 * kMs + 2'000'000}, {a, 3 * kMs + 2'000'000}}));
}

TEST(FairNetwork, GivesOthersWhatAFlowWithABottleneckElsewhereLeaves) {
  const Topology topology = star(5);
  FairNetwork network(topology);
  // Port 0 takes in a, b and c, a third each; what c leaves of its sender's port goes to d.
  const auto a = network.open(1, 0), b = network.open(2, 0), c = network.open(3, 0), d = network.open(3, 4);
  for (const auto flow : {a, b, c}) network.send(flow, 1'000'000);
  network.send(d, 2'000'000);
  EXPECT_EQ(drain(network), (std::vector<Seen>{{a, 3 * kMs + 2'000'000},
                                               {b, 3 * kMs + 2'000'000},
                                               {c, 3 * kMs + 2'000'000},
                                               {d, 3 * kMs + 2'000'000}}));
}

TEST(FairNetwork, SharesACableThatIsOneCapacityForBothWays) {
  Room room;
  for (const char* name : {"a", "b"})
    room.ranks.push_back(room.add(NodeKind::kDevice, name, kNoPlaceForTest));
  room.cables.push_back({0, 1, {1e9, 0}, {1e9, 0}, true});
  const auto topology = Topology::make(room);
  ASSERT_TRUE(topology.ok());
  FairNetwork network(*topology);
  const auto there = network.open(0, 1), back = network.open(1, 0);
  network.send(there, 1'000'000);
  network.send(back, 1'000'000);
  EXPECT_EQ(drain(network), (std::vector<Seen>{{there, 2 * kMs}, {back, 2 * kMs}}));
}

TEST(FairNetwork, SendsTheMessagesOfAFlowOneAfterTheOther) {
  const Topology topology = star(2);
  FairNetwork network(topology);
  const auto flow = network.open(0, 1);
  for (const std::uint64_t bytes : {1'000'000u, 500'000u, 0u, 250'000u}) network.send(flow, bytes);
  EXPECT_EQ(drain(network), (std::vector<Seen>{{flow, kMs + 2'000'000},
                                               {flow, 3 * kMs / 2 + 2'000'000},
                                               {flow, 3 * kMs / 2 + 2'000'000},
                                               {flow, 7 * kMs / 4 + 2'000'000}}));
}

// Pairs whose paths meet nowhere.
TEST(FairNetwork, IsAsFirstComeFirstServedWhereNobodyShares) {
  const auto topology = preset("rack-10g", 32);
  ASSERT_TRUE(topology.ok());
  FairNetwork fair(*topology);
  FifoNetwork fifo(*topology);
  Random random(3);
  for (std::uint32_t machine = 0; machine < 8; machine += 2) {
    const std::uint32_t from = 4 * machine, to = 4 * machine + 4;
    for (Network* network : {static_cast<Network*>(&fair), static_cast<Network*>(&fifo)}) {
      network->open(from, to);
      network->open(to, from);
      network->open(from + 1, from + 2);
    }
  }
  for (int i = 0; i < 200; ++i) {
    const auto flow = static_cast<Network::Flow>(random.below(12));
    const std::uint64_t bytes = 1000 * (1 + random.below(5000)), when = random.below(100) * kMs;
    for (Network* network : {static_cast<Network*>(&fair), static_cast<Network*>(&fifo)})
      network->send_at(flow, bytes, when);
  }
  std::vector<Seen> by_fair = drain(fair), by_fifo = drain(fifo);
  const auto by_flow = [](const Seen& a, const Seen& b) { return a.flow < b.flow; };
  std::stable_sort(by_fair.begin(), by_fair.end(), by_flow);
  std::stable_sort(by_fifo.begin(), by_fifo.end(), by_flow);
  ASSERT_EQ(by_fair.size(), by_fifo.size());
  for (std::size_t i = 0; i < by_fair.size(); ++i) {
    EXPECT_EQ(by_fair[i].flow, by_fifo[i].flow);
    // FIFO rounds on each link, the fluid once.
    EXPECT_NEAR(static_cast<double>(by_fair[i].at), static_cast<double>(by_fifo[i].at), 200) << i;
  }
}

// Random messages into one port: it never rests while something is left for it, and takes no more than it
// can.
TEST(FairNetwork, KeepsAPortThatAllWantBusyToTheEnd) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const Topology topology = star(9);
    FairNetwork network(topology);
    std::vector<Network::Transfer> transfers;
    network.record(&transfers);
    Random random(seed);
    std::vector<Network::Flow> flows;
    for (std::uint32_t from = 1; from < 9; ++from) flows.push_back(network.open(from, 0));
    std::uint64_t total = 0;
    for (int i = 0; i < 60; ++i) {
      const std::uint64_t bytes = 1 + random.below(1'000'000);
      total += bytes;
      network.send_at(flows[random.below(8)], bytes, random.below(3) * kMs);
    }
    network.send(flows[0], 3'000'000);  // So that the port is wanted from the beginning.
    total += 3'000'000;
    const std::vector<Seen> seen = drain(network);
    EXPECT_NEAR(static_cast<double>(seen.back().at), static_cast<double>(total * 1000 + 2'000'000), 100)
        << seed;
    // By any moment, no more has come than the port lets through.
    std::sort(transfers.begin(), transfers.end(), [](const auto& a, const auto& b) { return a.end < b.end; });
    std::uint64_t come = 0;
    const LinkIndex port = 1;  // From the hub to n0.
    for (const Network::Transfer& transfer : transfers) {
      if (transfer.link != port) continue;
      come += transfer.bytes;
      EXPECT_LE(come * 1000, transfer.end + 100) << seed;
    }
    EXPECT_EQ(come, total);
  }
}

TEST(FairNetwork, GivesTheSameMomentsEachTime) {
  const auto run = [] {
    const auto topology = preset("fat-tree", 64);
    FairNetwork network(*topology);
    Random random(11);
    for (std::uint32_t i = 0; i < 300; ++i) {
      const auto from = static_cast<std::uint32_t>(random.below(64));
      network.send(network.open(from, static_cast<std::uint32_t>(random.below(64))),
                   1 + random.below(1 << 20));
    }
    return drain(network);
  };
  EXPECT_EQ(run(), run());
}

}  // namespace
}  // namespace thalweg
