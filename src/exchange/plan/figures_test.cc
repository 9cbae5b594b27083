// The figures of the literature on placements, rings and trees, from the production exchange on a simulated
// network.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>

#include "exchange/plan/lower_bound.h"
#include "exchange/plan/simulate_exchange.h"
#include "topology/room_for_test.h"

namespace thalweg {
namespace {

constexpr std::uint64_t kMB = 1'000'000;

Topology uniform(std::uint32_t ranks, const std::string& speed = "1GB/s", const std::string& latency = "0") {
  return room_of(fmt::format("uniform:{},{},{}", ranks, speed, latency));
}

SimulatedExchange run(const Topology& topology, const Demand& demand, const Layout& layout,
                      bool check = true) {
  const auto result = simulate_exchange(topology, demand, layout, {check, true});
  EXPECT_TRUE(result.ok()) << result.status().message();
  if (!result.ok()) return {};
  EXPECT_EQ(result->checked, check);
  EXPECT_GE(result->seconds * (1 + 1e-9), lower_bound_seconds(topology, demand, layout)) << layout.route;
  return *result;
}

SimulatedExchange run(const Topology& topology, const Demand& demand, const std::string& route,
                      bool check = true) {
  const auto layout = lay_out(topology, demand, route);
  EXPECT_TRUE(layout.ok()) << layout.status().message();
  return layout.ok() ? run(topology, demand, *layout, check) : SimulatedExchange{};
}

Demand all_reduce(std::uint32_t ranks, std::uint64_t bytes, bool pipelined = false) {
  Demand demand;
  demand.ranks = ranks;
  demand.bytes = bytes;
  demand.pipelined = pipelined;
  return demand;
}

#define EXPECT_WITHIN(value, expected, share) EXPECT_NEAR(value, expected, (expected) * (share))

// Four GPUs and a CPU, 160 MB, 16 GB/s a port: 10 ms a vector.
TEST(Figures, PlacementsOfAPcieBoxAsTextbooksCount) {
  const Topology box = room_of("pcie-box");
  const Demand demand = all_reduce(4, 160 * kMB);
  EXPECT_WITHIN(run(box, demand, "star").seconds, 60.0e-3, 1e-6);
  EXPECT_WITHIN(run(box, demand, "cpu").seconds, 80.0e-3, 1e-6);
  EXPECT_WITHIN(run(box, demand, "spread").seconds, 15.0e-3, 1e-6);
}

TEST(Figures, PlacementsOfAPcieBoxWhenPhasesOverlap) {
  const Topology box = room_of("pcie-box");
  const Demand demand = all_reduce(4, 160 * kMB, true);
  EXPECT_WITHIN(run(box, demand, "star").seconds, 30.5e-3, 0.03);
  EXPECT_WITHIN(run(box, demand, "cpu").seconds, 40.6e-3, 0.03);
  EXPECT_WITHIN(run(box, demand, "spread").seconds, 15.0e-3, 0.03);
}

// Two rings over NVLink, 36 and 18 GB/s. The book's 5.93 ms takes every byte to travel twice; with n GPUs it
// is 2(n-1)/n times, which gives 5.19 ms.
TEST(Figures, TwoRingsOverNvlink) {
  const Topology box = room_of("dgx1v");
  const Demand demand = all_reduce(8, 160 * kMB);
  const double exact = 2 * 7.0 / 8 * 160e6 / 54e9, book = 2 * 160e6 / 54e9;
  const double seconds = run(box, demand, "rings").seconds;
  EXPECT_WITHIN(seconds, exact, 0.02);
  EXPECT_WITHIN(seconds, 5.19e-3, 0.02);
  EXPECT_WITHIN(seconds * 8 / 7, book, 0.02);
  auto halves = lay_out(box, demand, "rings");
  ASSERT_TRUE(halves.ok());
  ASSERT_EQ(halves->plan.rings.size(), 2u);
  EXPECT_DOUBLE_EQ(halves->plan.rings[0].weight, 2 * halves->plan.rings[1].weight);
  for (Ring& ring : halves->plan.rings) ring.weight = 1;
  EXPECT_WITHIN(run(box, demand, *halves).seconds, 7.78e-3, 0.02);
  EXPECT_WITHIN(run(box, demand, "bidirectional-ring").seconds, 2.59e-3, 0.02);
}

TEST(Figures, RingsByNumberFollowNvlinkToo) {
  const Topology box = room_of("dgx1v");
  const Demand demand = all_reduce(8, 160 * kMB);
  EXPECT_EQ(run(box, demand, "rings:2").seconds, run(box, demand, "rings").seconds);
  EXPECT_EQ(run(box, demand, "rings:1").seconds, run(box, demand, "ring").seconds);
  EXPECT_EQ(run(box, demand, "rings:4").seconds, run(box, demand, "bidirectional-ring").seconds);
  const auto five = lay_out(box, demand, "rings:5");
  ASSERT_FALSE(five.ok());
  EXPECT_NE(five.status().message().find("4 rings of direct cables"), std::string::npos);
}

TEST(Figures, DoublingTakesTheTimeOfItsFormulaForAnyNumberOfRanks) {
  constexpr double kLatency = 10e-6, kVector = 8e-3;
  for (const std::uint32_t n : {2u, 3u, 4u, 5u, 6u, 7u, 8u, 12u}) {
    const double p = std::bit_floor(n), rounds = std::log2(p);
    const double fold = n > p ? 2 * (kLatency + kVector) : 0;
    const Topology room = uniform(n, "1GB/s", "10us");
    EXPECT_WITHIN(run(room, all_reduce(n, 8 * kMB), "halving-doubling", false).seconds,
                  2 * rounds * kLatency + 2 * (p - 1) / p * kVector + fold, 1e-6)
        << n;
    // A latency or two of the folded ranks is hidden behind the others' rounds.
    EXPECT_WITHIN(run(room, all_reduce(n, 8 * kMB), "recursive-doubling", false).seconds,
                  rounds * (kLatency + kVector) + fold, 1e-3)
        << n;
  }
}

TEST(Figures, ARingTakesHardlyLongerWithMoreRanks) {
  const std::uint64_t bytes = 64 * kMB;
  for (const std::uint32_t n : {2u, 4u, 8u, 16u}) {
    const double factor = 2.0 * (n - 1) / n;
    const auto ring = run(uniform(n), all_reduce(n, bytes), "ring");
    EXPECT_WITHIN(ring.seconds / (static_cast<double>(bytes) / 1e9), factor, 0.001) << n;
    for (const std::uint64_t sent : ring.rank_bytes_sent) EXPECT_EQ(sent, 2 * (n - 1) * (bytes / n));
    Demand reduce = all_reduce(n, bytes);
    reduce.operation = Operation::kReduce;
    EXPECT_WITHIN(run(uniform(n), reduce, "chain").seconds, 0.064 * (n - 1), 0.001) << n;
  }
}

// Every rank with a cable to each neighbour: half of each block goes either way.
Topology circle(std::uint32_t ranks) {
  Room room;
  const std::uint32_t place[kLevels] = {kNowhere, kNowhere, kNowhere};
  for (std::uint32_t i = 0; i < ranks; ++i)
    room.ranks.push_back(room.add(NodeKind::kDevice, fmt::format("n{}", i), place));
  for (std::uint32_t i = 0; i < ranks; ++i) room.connect(i, (i + 1) % ranks, {1e9, 0});
  // Devices pass nothing on, so that ranks which are no neighbours need a way.
  const NodeIndex hub = room.add(NodeKind::kSwitch, "slow", place);
  for (std::uint32_t i = 0; i < ranks; ++i) room.connect(i, hub, {1e3, 0});
  auto made = Topology::make(std::move(room));
  EXPECT_TRUE(made.ok()) << made.status().message();
  return *std::move(made);
}

TEST(Figures, BothWaysAroundARingTakeHalfTheTime) {
  for (const std::uint32_t n : {4u, 8u, 16u}) {
    const Topology room = circle(n);
    const double once = 2.0 * (n - 1) / n * 0.064;
    EXPECT_WITHIN(run(room, all_reduce(n, 64 * kMB), "ring").seconds, once, 0.001) << n;
    EXPECT_WITHIN(run(room, all_reduce(n, 64 * kMB), "bidirectional-ring").seconds, once / 2, 0.02) << n;
  }
}

TEST(Figures, PackedTreesUseEveryNvlink) {
  const Topology box = room_of("dgx1v");
  const Demand demand = all_reduce(8, 160 * kMB, true);
  EXPECT_WITHIN(run(box, demand, "packed-trees").seconds, 2.59e-3, 0.03);
  for (const std::uint32_t n : {5u, 6u, 7u}) {
    const auto ring = lay_out(box, all_reduce(n, 160 * kMB), "ring");
    if (!ring.ok() || ring->plan.rings.empty()) continue;
    EXPECT_LE(run(box, all_reduce(n, 160 * kMB, true), "packed-trees").seconds,
              run(box, all_reduce(n, 160 * kMB), *ring).seconds * 1.001)
        << n;
  }
}

// n machines with GPUs, k with only CPUs.
TEST(Figures, SpareServersTakeTheTimeOfTheFormula) {
  for (const double n : {2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 12.0, 16.0}) {
    for (double k = 0; k <= n; ++k) {
      for (const std::uint64_t bytes : {10 * kMB, 64 * kMB}) {
        const double formula = 2 * n * (n - 1) / (n * n + k * n - 2 * k) * static_cast<double>(bytes) / 1e9;
        const auto ranks = static_cast<std::uint32_t>(n);
        const auto result =
            run(uniform(2 * ranks), all_reduce(ranks, bytes, true), fmt::format("byteps:{}", k), false);
        EXPECT_WITHIN(result.seconds, formula, k == 0 ? 1e-5 : 0.03) << n << " " << k << " " << bytes;
        // Without servers a ring's bytes, with as many as machines one vector each: exactly.
        if ((k > 0 && k < n) || bytes % (4 * ranks) != 0) continue;
        for (const std::uint64_t sent : result.rank_bytes_sent)
          EXPECT_EQ(sent, k == 0 ? 2 * (ranks - 1) * (bytes / ranks) : bytes) << n << " " << k;
      }
    }
  }
}

// One more piece makes the last one, which nothing overlaps, shorter: by 1 % of the time here.
TEST(Figures, MoreBytesTakeNoLessTime) {
  const Topology box = room_of("pcie-box");
  for (const char* route : {"star", "cpu", "binomial-tree", "double-tree"}) {
    double last = 0;
    for (std::uint64_t bytes = 131'000; bytes < 165'000; bytes += 300) {
      const double seconds = run(box, all_reduce(4, bytes, true), route, false).seconds;
      EXPECT_GE(seconds, 0.985 * last) << route << " " << bytes;
      last = std::max(last, seconds);
    }
  }
}

TEST(Figures, MoreServersTakeLessTime) {
  const Topology room = uniform(16);
  const double one = run(room, all_reduce(8, 64 * kMB), "servers:1").seconds;
  EXPECT_WITHIN(one, 2 * 8 * 0.064, 0.001);
  for (const std::uint32_t servers : {2u, 4u, 8u}) {
    const double seconds = run(room, all_reduce(8, 64 * kMB), fmt::format("servers:{}", servers)).seconds;
    EXPECT_WITHIN(seconds, one / servers, 0.03) << servers;
  }
}

TEST(Figures, AsManyServersAsWorkersTakeTheSameTimeHoweverMany) {
  for (const std::uint32_t n : {2u, 4u, 8u, 16u}) {
    const Demand demand = all_reduce(n, 64 * kMB);
    EXPECT_WITHIN(run(uniform(2 * n), demand, fmt::format("servers:{}", n)).seconds, 2 * 0.064, 0.03) << n;
    EXPECT_WITHIN(run(uniform(n), demand, "colocated").seconds, 2.0 * (n - 1) / n * 0.064, 0.03) << n;
  }
}

TEST(Figures, LatencyDecidesForSmallMessagesAndBandwidthForLargeOnes) {
  const Topology room = uniform(16, "1GB/s", "10us");
  const double ring = run(room, all_reduce(16, 64), "ring").seconds;
  const double tree = run(room, all_reduce(16, 64), "binomial-tree").seconds;
  EXPECT_WITHIN(ring, 30 * 10e-6, 0.02);
  EXPECT_WITHIN(tree, 8 * 10e-6, 0.02);
  EXPECT_WITHIN(ring / tree, 3.75, 0.02);
  // 30 (L + S/(16 B)) = 8 (L + S/B).
  const double crossover = 22 * 10e-6 * 1e9 / (8 - 30.0 / 16);
  std::uint64_t low = 64, high = kMB;
  while (high - low > 64) {
    const std::uint64_t middle = (low + high) / 2;
    const bool tree_wins = run(room, all_reduce(16, middle), "binomial-tree", false).seconds <
                           run(room, all_reduce(16, middle), "ring", false).seconds;
    (tree_wins ? low : high) = middle;
  }
  EXPECT_WITHIN(static_cast<double>(low), crossover, 0.05);
}

// Lian et al., "Can decentralized algorithms outperform centralized algorithms?", section 5: where latency is
// high, a step of gossip on a ring takes one of it, an all-reduce 2(n-1). A vector takes 8 ms.
TEST(Figures, GossipOutrunsARingWhereLatencyIsHigh) {
  struct Point {
    std::uint32_t ranks;
    const char* latency;
    double ratio;
  };
  for (const Point& point : {Point{8, "100us", 0.96},
                             {8, "1ms", 1.65},
                             {8, "10ms", 5.92},
                             {16, "100us", 1.12},
                             {16, "1ms", 2.65},
                             {16, "10ms", 12.1}}) {
    SCOPED_TRACE(fmt::format("{} ranks, {}", point.ranks, point.latency));
    const Topology room = uniform(point.ranks, "1GB/s", point.latency);
    Demand demand = all_reduce(point.ranks, 8 * kMB);
    const double ring = run(room, demand, "ring").seconds;
    demand.operation = Operation::kNeighbours;
    const SimulatedExchange gossip = run(room, demand, "spread");
    EXPECT_WITHIN(ring / gossip.seconds, point.ratio, 0.03);
    EXPECT_EQ(gossip.max_rank_bytes_sent, 2 * demand.bytes);
    demand.operation = Operation::kAllReduce;
    const Topology central = uniform(point.ranks + 1, "1GB/s", point.latency);
    EXPECT_EQ(run(central, demand, "servers:1").max_rank_bytes_sent, point.ranks * demand.bytes);
  }
}

// 32 GPUs in four boxes of which each GPU sends an eighth of 3/4 of the vector out, and as much again: shared
// by all cards of a box. Inside, over NVLink, a ring of 7/8 there and back.
TEST(Figures, CardsBesideTheGpusShareWhatLeavesABox) {
  const Demand demand = all_reduce(32, 160 * kMB);
  const double inside = 2 * 7.0 / 8 * 160e6 / 108e9;
  double one = 0;
  for (const double cards : {1.0, 2.0, 4.0}) {
    const Topology boxes = room_of(fmt::format("boxes-{}x100g", cards));
    const double between = run(boxes, demand, "hierarchical", false).seconds - inside;
    EXPECT_WITHIN(between, 2 * 3.0 / 4 * 160e6 / 10e9 / cards, 0.02) << cards;
    if (cards == 1) one = between;
    EXPECT_WITHIN(between, one / cards, 0.02) << cards;
  }
}

// A ring crosses each link with one flow. A binomial tree has four crossing a card at once, of which, first
// come first served, some are early, and the next round begins with them.
TEST(Figures, FairSharingDelaysWhereFlowsMeetAlone) {
  const Topology room = room_of("rack-10g");
  const auto ratio = [&](const char* route) {
    const Demand demand = all_reduce(32, 16 * kMB);
    const auto fair =
        simulate_exchange(room, demand, *lay_out(room, demand, route), {.sharing = Sharing::kFair});
    EXPECT_TRUE(fair.ok()) << fair.status().message();
    return fair->seconds / run(room, demand, route, false).seconds;
  };
  EXPECT_NEAR(ratio("ring"), 1, 1e-9);
  EXPECT_NEAR(ratio("hierarchical"), 1, 0.01);
  EXPECT_NEAR(ratio("binomial-tree"), 1.49, 0.02);
  for (const char* name : {"pcie-box", "dgx1v", "rack-10g", "two-sites", "boxes-2x100g"}) {
    const Topology other = room_of(name, 7);
    const Demand demand = all_reduce(7, 1'000'001, true);
    for (const std::string& route : all_routes(other, demand)) {
      const auto layout = lay_out(other, demand, route);
      const auto fair = simulate_exchange(other, demand, *layout, {.sharing = Sharing::kFair});
      ASSERT_TRUE(fair.ok()) << name << " " << route << ": " << fair.status().message();
      EXPECT_GE(fair->seconds * (1 + 1e-9), lower_bound_seconds(other, demand, *layout))
          << name << " " << route;
    }
  }
}

// Every operation, by every route that fits, on rooms whose ranks are and are not evenly spread.
TEST(Figures, EveryOperationIsRightOnEveryRoom) {
  for (std::size_t i = 0; i < kOperations; ++i) {
    for (const char* name : {"pcie-box", "dgx1v", "rack-10g", "two-sites"}) {
      for (const std::uint32_t ranks : {2u, 3u, 7u}) {
        const Topology room = room_of(name, ranks);
        for (const std::uint64_t bytes : {4u, 8u, 1001u}) {  // Also fewer elements than ranks.
          Demand demand = all_reduce(ranks, bytes, true);
          demand.operation = static_cast<Operation>(i);
          const auto routes = all_routes(room, demand);
          EXPECT_FALSE(routes.empty()) << operation_name(demand.operation);
          for (const std::string& route : routes) run(room, demand, route);
        }
      }
    }
  }
}

TEST(Figures, AThousandRanksTakeTheTimeOfTheFormulas) {
  const std::uint32_t n = 1000;
  const Topology room = uniform(n, "10Gbit/s", "1us");
  const double bytes = 100e6, whole = bytes / 1.25e9;
  const double ring = run(room, all_reduce(n, 100 * kMB), "ring", false).seconds;
  EXPECT_WITHIN(ring, 2 * (n - 1) * (1e-6 + whole / n), 0.001);
  // 25 ranks a machine, 40 machines.
  const auto layout = lay_out(room, all_reduce(n, 100 * kMB), "hierarchical");
  ASSERT_TRUE(layout.ok());
  EXPECT_EQ(layout->plan.levels, (PlanLevels{25, 40}));
  const double hierarchical = run(room, all_reduce(n, 100 * kMB), *layout, false).seconds;
  EXPECT_WITHIN(hierarchical, 2 * (24 * (1e-6 + whole / 25) + 39 * (1e-6 + whole / n)), 0.001);
  const double trees = run(room, all_reduce(n, 20 * kMB, true), "double-tree", false).seconds;
  EXPECT_WITHIN(trees, 2 * whole / 5, 0.15);
}

}  // namespace
}  // namespace thalweg
