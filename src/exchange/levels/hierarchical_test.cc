// Levels of a hierarchical route: whose parts meet whose, in which order, and what crosses the network.
#include <gtest/gtest.h>

#include <cstring>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "exchange/loop_ranks_for_test.h"
#include "exchange/plan/simulate_exchange.h"
#include "exchange/route/route.h"
#include "topology/room_for_test.h"

namespace thalweg {
namespace {

float random_float(Random& random) { return static_cast<float>(random.below(1 << 20)) * 1e-3F - 300; }

// Around a ring of n the first sender is behind the owner of a part, and who receives adds to its own.
float around(const std::vector<float>& members, std::size_t owner) {
  float sum = members[(owner + 1) % members.size()];
  for (std::size_t step = 2; step <= members.size(); ++step)
    sum = members[(owner + step) % members.size()] + sum;
  return sum;
}

TEST(Hierarchical, WithoutLettersKeepsTheBitsOfRings) {
  constexpr std::uint32_t kEach = 4, kMachines = 2, kRanks = kEach * kMachines;
  constexpr std::size_t kCount = 800;
  Random random(7);
  std::vector<std::vector<float>> vectors(kRanks, std::vector<float>(kCount));
  for (auto& vector : vectors) {
    for (float& each : vector) each = random_float(random);
  }
  std::vector<float> expected;
  for (std::size_t e = 0; e < kCount; ++e) {
    const std::size_t owner = e / (kCount / kEach);
    std::vector<float> machines;
    for (std::uint32_t machine = 0; machine < kMachines; ++machine) {
      std::vector<float> members;
      for (std::uint32_t i = 0; i < kEach; ++i) members.push_back(vectors[machine * kEach + i][e]);
      machines.push_back(around(members, owner));
    }
    expected.push_back(machines[0] + machines[1]);
  }
  LoopRanks ranks(kRanks, "hierarchical:4x2");
  ranks.all_reduce(Arithmetic::of(DataType::kF32, Reduction::kSum), vectors);
  for (const auto& vector : vectors)
    EXPECT_EQ(std::memcmp(vector.data(), expected.data(), kCount * sizeof(float)), 0);
}

// Messages between machines of four of an operation among eight ranks.
std::size_t crossings(const std::string& route, Operation operation = Operation::kAllReduce,
                      std::uint32_t root = 0) {
  const Topology room = room_of("rack-10g", 8);
  const Demand demand{.operation = operation, .bytes = 4000, .ranks = 8, .root = root, .pipelined = false};
  const auto layout = lay_out(room, demand, route);
  EXPECT_TRUE(layout.ok()) << layout.status().message();
  const auto result = simulate_exchange(room, demand, *layout, {.check = true, .record = true});
  EXPECT_TRUE(result.ok()) << result.status().message();
  std::size_t count = 0;
  for (const Passage& passage : result->passages)
    count += room.link_name(passage.link).ends_with(".nic -> rack0") ? 1 : 0;
  return count;
}

TEST(Hierarchical, OneMemberSpeaksForAllWhereTreesAreInside) {
  EXPECT_EQ(crossings("hierarchical:4x2"), 4u * 2 * 2);  // Each part: two halves, there and back.
  EXPECT_EQ(crossings("hierarchical:4tx2"), 2u * 2);     // One part.
  EXPECT_EQ(crossings("hierarchical:4tx2t"), 2u);        // Whole, there and back.
  EXPECT_EQ(crossings("hierarchical:4hx2d"), 4u * 2);    // Each part whole, both ways at once.
  EXPECT_EQ(crossings("hierarchical:2tx2tx2d"), 2u);
}

TEST(Hierarchical, CrossesOnceForEachMachineOrPart) {
  for (const Operation operation : {Operation::kReduce, Operation::kBroadcast}) {
    for (const std::uint32_t root : {0u, 3u, 6u}) {
      EXPECT_EQ(crossings("hierarchical:4tx2t", operation, root), 1u);
      EXPECT_EQ(crossings("hierarchical:4tx2", operation, root),
                2u + 1u);                                              // Halves, and one to or from the root.
      EXPECT_EQ(crossings("hierarchical:4x2t", operation, root), 4u);  // Each part.
    }
  }
  for (const Operation operation : {Operation::kReduceScatter, Operation::kAllGather}) {
    EXPECT_EQ(crossings("hierarchical:4x2", operation), 4u * 2);
    EXPECT_EQ(crossings("hierarchical:4hx2h", operation), 4u * 2);
    EXPECT_EQ(crossings("hierarchical:2x4", operation), 2u * 2 * 3);  // Both ways around, of each pair.
  }
}

// Machines of four and of three: three parts of all ranks' cross, each once, in runs that lie side by side.
TEST(Hierarchical, GivesPartsAcrossMachinesOfUnequalSize) {
  for (const Operation operation : {Operation::kReduceScatter, Operation::kAllGather}) {
    const Topology room = room_of("rack-10g", 7);
    for (const char* route : {"hierarchical", "hierarchical:4+3hx2h", "hierarchical:1x4+3x2"}) {
      const Demand demand{.operation = operation, .bytes = 7000, .ranks = 7, .pipelined = false};
      const auto layout = lay_out(room, demand, route);
      ASSERT_TRUE(layout.ok()) << layout.status().message();
      const auto result = simulate_exchange(room, demand, *layout, {.check = true, .record = true});
      ASSERT_TRUE(result.ok()) << result.status().message();
      std::uint64_t bytes = 0;
      for (const Passage& passage : result->passages)
        bytes += room.link_name(passage.link).ends_with(".nic -> rack0") ? passage.bytes : 0;
      EXPECT_EQ(bytes, 7000u) << operation_name(operation) << " " << route;
    }
    EXPECT_EQ(lay_out(room, {.operation = operation, .bytes = 7000, .ranks = 7}, "hierarchical")->plan.name(),
              "hierarchical:4+3x2");
  }
}

// A root by parts gets back what it has sent, but not into what it contributes.
TEST(Hierarchical, NeverWritesWhatTheRootOfABroadcastGives) {
  static constexpr float kGiven[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};  // Memory that cannot be written.
  const Plan plan = *parse_route("hierarchical:2x2");
  std::vector<std::vector<float>> out(4, std::vector<float>(std::size(kGiven)));
  LoopNetwork network(1, 1 << 14, true);
  std::vector<std::unique_ptr<Exchange>> exchanges;
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    Call call;
    call.operation = Operation::kBroadcast;
    call.count = std::size(kGiven);
    call.root = 2;
    if (rank == call.root) {
      call.in = static_cast<const std::byte*>(static_cast<const void*>(kGiven));
    } else {
      call.out = static_cast<std::byte*>(static_cast<void*>(out[rank].data()));
    }
    exchanges.push_back(std::make_unique<Exchange>(std::move(call), plan, rank, 4));
  }
  ASSERT_TRUE(run_all(network, exchanges));
  for (const std::uint32_t rank : {0u, 1u, 3u})
    EXPECT_EQ(out[rank], std::vector<float>(std::begin(kGiven), std::end(kGiven)));
}

TEST(Hierarchical, EachMachineOfAnyNumberOfRanksIsALevel) {
  const auto levels = [](std::initializer_list<std::uint32_t> machines) {
    Room room;
    room.name = "odd";
    const NodeIndex between = room.add(NodeKind::kSwitch, "network", {kNowhere, kNowhere, kNowhere});
    for (std::uint32_t machine = 0; const std::uint32_t ranks : machines) {
      const std::uint32_t at[kLevels] = {machine, kNowhere, kNowhere};
      const NodeIndex host = room.add(NodeKind::kHost, std::to_string(machine++), at);
      room.connect(host, between, {1e9, 1000});
      for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        const std::string name = room.nodes[host].name + ".gpu" + std::to_string(rank);
        room.ranks.push_back(room.add(NodeKind::kDevice, name, at));
        room.connect(room.ranks.back(), host, {10e9, 100});
      }
    }
    const auto topology = Topology::make(std::move(room));
    EXPECT_TRUE(topology.ok()) << topology.status().message();
    const Demand demand{.bytes = 1000, .ranks = topology->rank_count()};
    const auto layout = lay_out(*topology, demand, "hierarchical");
    EXPECT_TRUE(layout.ok()) << layout.status().message();
    const auto result = simulate_exchange(*topology, demand, *layout, {.check = true});
    EXPECT_TRUE(result.ok()) << result.status().message();
    return layout->plan.name();
  };
  EXPECT_EQ(levels({4, 4}), "hierarchical:4x2");
  EXPECT_EQ(levels({3, 5}), "hierarchical:3+5x2");
  EXPECT_EQ(levels({8, 8, 4}), "hierarchical:8+8+4x3");
  EXPECT_EQ(levels({1, 7}), "hierarchical:1+7x2");
}

TEST(Hierarchical, RefusesLevelsThatDoNotFit) {
  const auto message = [](const std::string& name) {
    return check_plan(*parse_route(name), Operation::kAllReduce, 8).message();
  };
  EXPECT_EQ(message("hierarchical:2tx4d"), "");
  EXPECT_NE(message("hierarchical:2x2").find("multiply to the 8 ranks"), std::string::npos);
  EXPECT_EQ(message("hierarchical:3+5x2"), "");
  EXPECT_EQ(message("hierarchical:2x1+3x2"), "");
  EXPECT_NE(message("hierarchical:3+4x2").find("make up the 8 ranks"), std::string::npos);
  EXPECT_NE(message("hierarchical:3+5").find("make up the 8 ranks"), std::string::npos);
  const auto message_of = [](const std::string& name, Operation operation) {
    return check_plan(*parse_route(name), operation, 8).message();
  };
  for (const Operation operation : {Operation::kReduceScatter, Operation::kAllGather}) {
    for (const char* name : {"hierarchical:4tx2", "hierarchical:3+5tx2", "hierarchical:4x2d"})
      EXPECT_NE(message_of(name, operation).find("expected levels by r or h"), std::string::npos) << name;
    EXPECT_EQ(message_of("hierarchical:3+5hx2", operation), "");
  }
  EXPECT_NE(message_of("hierarchical:4x2d", Operation::kReduce).find("expected r, t or h"),
            std::string::npos);
  EXPECT_EQ(message_of("hierarchical:3+5tx2h", Operation::kBroadcast), "");
  EXPECT_NE(message("hierarchical:2dx4").find("outermost"), std::string::npos);
  // Their product has a remainder of 8 modulo 2^32.
  EXPECT_NE(message("hierarchical:4096x4096x4096x8").find("multiply to the 8 ranks"), std::string::npos);
  EXPECT_NE(parse_route("hierarchical:4q").status().message().find("hierarchical:8tx4h"), std::string::npos);
}

}  // namespace
}  // namespace thalweg
