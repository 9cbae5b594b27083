// Aggregation in several stages: machines behind slow links, and trees of servers.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "exchange/exchange.h"
#include "exchange/plan/simulate_exchange.h"
#include "exchange/plan/simulated_group.h"
#include "topology/network/fifo_network.h"
#include "topology/room_for_test.h"

namespace thalweg {
namespace {

constexpr std::uint64_t kBytes = 160'000'000;

// One tree in which the last `servers` ranks contribute nothing.
Layout tree_layout(std::vector<std::uint32_t> endpoints, std::vector<std::int32_t> parent,
                   std::uint32_t servers) {
  Layout layout;
  layout.route = "packed-trees";
  layout.endpoints = std::move(endpoints);
  layout.plan.route = &routes::kPackedTrees;
  layout.plan.servers = servers;
  Tree tree;
  tree.parent = std::move(parent);
  tree.root =
      static_cast<std::uint32_t>(std::find(tree.parent.begin(), tree.parent.end(), -1) - tree.parent.begin());
  layout.plan.trees.push_back(std::move(tree));
  return layout;
}

SimulatedExchange run_hierarchy(const Topology& topology, const Demand& demand, const Layout& layout) {
  const Status fits = check_plan(layout.plan, demand.operation, layout.size());
  EXPECT_TRUE(fits.ok()) << fits.message();
  const auto result = simulate_exchange(topology, demand, layout, {.check = true, .record = true});
  EXPECT_TRUE(result.ok()) << result.status().message();
  return result.ok() ? *result : SimulatedExchange{};
}

std::uint64_t bytes_on(const Topology& topology, const SimulatedExchange& result, const std::string& link) {
  for (LinkIndex i = 0; i < topology.link_count(); ++i) {
    if (topology.link_name(i) == link) return result.link_bytes[i];
  }
  ADD_FAILURE() << "no link " << link;
  return 0;
}

// Two machines of four GPUs and a server in a third: local gradients meet on one GPU, go to the CPU, to the
// server, and back the same way.
TEST(SevenSteps, HappenInOrderAndSpareTheNetwork) {
  const Topology room = room_of("rack-10g", 12);
  Demand demand{.bytes = kBytes, .ranks = 8, .pipelined = false};
  // Ranks 0-7 are GPUs, 8 and 9 their CPUs, 10 is the server.
  const Layout staged =
      tree_layout({0, 1, 2, 3, 4, 5, 6, 7, 12, 13, 14}, {8, 0, 0, 0, 9, 4, 4, 4, 10, 10, -1}, 3);
  const SimulatedExchange result = run_hierarchy(room, demand, staged);
  const auto step_of = [](const Passage& p) {
    const auto kind = [](std::uint32_t rank) {
      return rank == 10 ? 4 : rank >= 8 ? 3 : rank % 4 == 0 ? 2 : 1;
    };
    const int from = kind(p.from), to = kind(p.to);
    return to > from ? from + 1 : 9 - from;  // 2: to one GPU, 3: to the CPU, 4: to the server, 5 to 7: back.
  };
  std::map<int, double> ends;
  for (const std::uint32_t machine : {0u, 1u}) {  // The server answers one after the other.
    std::map<int, double> begins, machine_ends;
    for (const Passage& passage : result.passages) {
      const std::uint32_t inner = std::min(passage.from, passage.to);
      if ((inner < 8 ? inner / 4 : inner - 8) != machine) continue;
      const int step = step_of(passage);
      machine_ends[step] = std::max(machine_ends[step], passage.end);
      ends[step] = std::max(ends[step], passage.end);
      begins[step] = begins.count(step) ? std::min(begins[step], passage.begin) : passage.begin;
    }
    ASSERT_EQ(begins.size(), 6u);  // The first of the seven is computing.
    for (int step = 3; step <= 7; ++step)
      EXPECT_GE(begins[step], machine_ends[step - 1]) << machine << " " << step;
    EXPECT_GE(begins[5], ends[4]);
  }
  EXPECT_NEAR(ends[2], 3 * 10e-3, 1e-4);             // Three GPUs to one: 16 GB/s.
  EXPECT_NEAR(ends[4] - ends[3], 2 * 160e-3, 1e-3);  // Two machines to one server: 1 GB/s.

  Layout pushed;
  const auto plan = parse_route("servers:1");
  ASSERT_TRUE(plan.ok());
  pushed.plan = *plan;
  pushed.endpoints = {0, 1, 2, 3, 4, 5, 6, 7, 14};
  const SimulatedExchange direct = run_hierarchy(room, demand, pushed);
  for (const char* card : {"m0.nic -> rack0", "m1.nic -> rack0"}) {
    EXPECT_EQ(bytes_on(room, result, card), kBytes);
    EXPECT_EQ(bytes_on(room, direct, card), 4 * kBytes);
  }
}

// 64 leaves, eight servers above them, one above these.
Layout tree_of_servers(std::uint32_t leaves, std::uint32_t fan_in) {
  const std::uint32_t inner = (leaves + fan_in - 1) / fan_in, root = leaves + inner;
  std::vector<std::int32_t> parent(root + 1, static_cast<std::int32_t>(root));
  for (std::uint32_t leaf = 0; leaf < leaves; ++leaf)
    parent[leaf] = static_cast<std::int32_t>(leaves + leaf / fan_in);
  parent[root] = -1;
  std::vector<std::uint32_t> endpoints(root + 1);
  std::iota(endpoints.begin(), endpoints.end(), 0u);
  return tree_layout(endpoints, parent, inner + 1);
}

Layout star_of(std::uint32_t leaves) {
  std::vector<std::int32_t> parent(leaves + 1, static_cast<std::int32_t>(leaves));
  parent[leaves] = -1;
  std::vector<std::uint32_t> endpoints(leaves + 1);
  std::iota(endpoints.begin(), endpoints.end(), 0u);
  return tree_layout(endpoints, parent, 1);
}

TEST(TreeOfServers, SparesItsRootAndTakesAQuarterOfTheTime) {
  const Topology room = room_of("uniform:73,1GB/s,0");
  const std::uint64_t bytes = 8'000'000;
  const double unit = 8e-3;  // S/B.
  Demand demand{.operation = Operation::kReduce, .bytes = bytes, .ranks = 65, .pipelined = false};
  const auto reduced_by = [&](const char* route, std::uint64_t pieces) {
    auto layout = lay_out(room, demand, route);
    EXPECT_TRUE(layout.ok()) << layout.status().message();
    layout->plan.piece_elements = pieces > 0 ? demand.elements() / pieces : 0;
    return run_hierarchy(room, demand, *layout);
  };
  const SimulatedExchange star = reduced_by("star", 0);
  EXPECT_EQ(bytes_on(room, star, "switch -> n0"), 64 * bytes);
  EXPECT_NEAR(star.seconds, 64 * unit, 0.03 * 64 * unit);
  demand.ranks = 73;  // A root, eight below it, and 64 leaves.
  const SimulatedExchange whole = reduced_by("tree:8", 0), pieces = reduced_by("tree:8", 64);
  EXPECT_EQ(bytes_on(room, whole, "switch -> n0"), 8 * bytes);
  EXPECT_NEAR(whole.seconds, 16 * unit, 0.03 * 16 * unit);
  EXPECT_EQ(bytes_on(room, pieces, "switch -> n0"), 8 * bytes);
  EXPECT_NEAR(pieces.seconds, 8 * unit, 0.03 * 8 * unit);
}

std::vector<std::int64_t> mean_by(const Topology& room, const Layout& layout, std::uint32_t leaves) {
  constexpr std::uint64_t kCount = 1000;
  std::vector<std::vector<std::int64_t>> in(layout.size()), out(layout.size());
  FifoNetwork network(room);
  SimulatedGroup group(network, layout.endpoints);
  std::vector<std::unique_ptr<Exchange>> exchanges;
  for (std::uint32_t rank = 0; rank < layout.size(); ++rank) {
    Call call;
    call.arithmetic = Arithmetic::of(DataType::kI64, Reduction::kMean);
    call.count = kCount;
    if (rank < leaves) {
      for (std::uint64_t e = 0; e < kCount; ++e)
        in[rank].push_back(static_cast<std::int64_t>(rank * 7919 + e * 104729));
      out[rank].resize(kCount);
      call.in = static_cast<const std::byte*>(static_cast<const void*>(in[rank].data()));
      call.out = static_cast<std::byte*>(static_cast<void*>(out[rank].data()));
    }
    exchanges.push_back(std::make_unique<Exchange>(std::move(call), layout.plan, rank, layout.size()));
  }
  const Status status = group.run(exchanges);
  EXPECT_TRUE(status.ok()) << status.message();
  for (std::uint32_t rank = 1; rank < leaves; ++rank) EXPECT_EQ(out[rank], out[0]);
  for (std::uint64_t e = 0; e < kCount; ++e) {
    std::int64_t sum = 0;
    for (std::uint32_t rank = 0; rank < leaves; ++rank) sum += in[rank][e];
    EXPECT_EQ(out[0][e], sum / leaves);
  }
  return out[0];
}

TEST(TreeOfServers, HasTheMeanOfAllLeavesEvenWithUnequalSubtrees) {
  const Topology room = room_of("uniform:80,1GB/s,0");
  for (const std::uint32_t leaves : {64u, 61u, 17u}) {
    EXPECT_EQ(mean_by(room, tree_of_servers(leaves, 8), leaves), mean_by(room, star_of(leaves), leaves))
        << leaves;
  }
}

}  // namespace
}  // namespace thalweg
