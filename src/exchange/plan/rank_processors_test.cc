#include "exchange/plan/rank_processors.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "exchange/plan/simulate_exchange.h"
#include "topology/room_for_test.h"

namespace thalweg {
namespace {

constexpr double kCost = 1e-3;

double simulated(const Topology& room, const Demand& demand, const char* route, const Handling& handling) {
  const auto layout = lay_out(room, demand, route);
  EXPECT_TRUE(layout.ok()) << layout.status().message();
  const auto result = simulate_exchange(room, demand, *layout, {.handling = handling});
  EXPECT_TRUE(result.ok()) << result.status().message();
  return result->seconds;
}

TEST(RankProcessors, DoOneThingAfterTheOther) {
  RankProcessors processors(
      2, {.message_seconds = 2e-6, .far_message_seconds = 5e-6, .add_seconds_per_byte = 1e-9});
  constexpr Picoseconds kUs = 1'000'000;
  EXPECT_EQ(processors.message(0, 10 * kUs, 2), 12 * kUs);
  EXPECT_EQ(processors.add(0, 10 * kUs, 3000), 15 * kUs) << "after the message";
  EXPECT_EQ(processors.message(0, 30 * kUs, 3), 35 * kUs) << "idle meanwhile, and further apart";
  EXPECT_EQ(processors.free(0), 35 * kUs);
  EXPECT_EQ(processors.free(1), 0u) << "another rank's";
}

// Messages of no length to speak of.
TEST(RankProcessors, AMessageCostsBothItsEnds) {
  const Topology room = room_of("uniform:16,1000GB/s,0");
  const Demand tiny{.bytes = 64, .ranks = 16, .pipelined = false};
  const Handling handling{.message_seconds = kCost, .far_message_seconds = kCost};
  // Each of 30 steps ends a message that another rank began: o there, o here.
  EXPECT_NEAR(simulated(room, tiny, "ring", handling), 30 * 2 * kCost, 1e-6);
  EXPECT_NEAR(simulated(room, tiny, "binomial-tree", handling), 8 * 2 * kCost, 1e-6);
  // Rank 0 ends 15 and begins 15; the first has begun before, the last ends after.
  EXPECT_NEAR(simulated(room, tiny, "star", handling), (1 + 15 + 15 + 1) * kCost, 1e-6);
}

// The longer of the two decides what a full pipeline takes for a piece.
TEST(RankProcessors, WorkWhileLinksCarry) {
  const Topology room = room_of("uniform:2,1GB/s,0");
  const Demand demand{.operation = Operation::kPointToPoint, .bytes = 64'000'000, .ranks = 2};
  const auto layout = lay_out(room, demand, "star");
  ASSERT_TRUE(layout.ok()) << layout.status().message();
  const auto messages = simulate_exchange(room, demand, *layout)->messages;
  const double piece = 0.064 / static_cast<double>(messages);
  for (const double times : {0.5, 2.0}) {
    const double cost = times * piece;
    const Handling handling{.message_seconds = cost, .far_message_seconds = cost};
    const double expected = static_cast<double>(messages) * std::max(cost, piece);
    EXPECT_NEAR(simulated(room, demand, "star", handling), expected, 3 * (cost + piece)) << times;
  }
}

TEST(RankProcessors, AddWhereSumsAreMade) {
  const Topology room = room_of("uniform:4,1GB/s,0");
  const Demand demand{.bytes = 4'000'000, .ranks = 4, .pipelined = false};
  const Handling handling{.add_seconds_per_byte = 1e-9};
  const auto added = [&](const char* route, Operation operation) {
    Demand other = demand;
    other.operation = operation;
    return simulated(room, other, route, handling) - simulated(room, other, route, {});
  };
  EXPECT_NEAR(added("ring", Operation::kAllReduce), 3e-3, 1e-9);
  EXPECT_NEAR(added("recursive-doubling", Operation::kAllReduce), 8e-3, 1e-9);
  EXPECT_NEAR(added("halving-doubling", Operation::kReduceScatter), 3e-3, 1e-9);
  EXPECT_NEAR(added("ring", Operation::kAllGather), 0, 1e-9);
  EXPECT_NEAR(added("chain", Operation::kBroadcast), 0, 1e-9);
  // As fast as vectors come, it adds the first while the second comes: the last alone is seen.
  EXPECT_NEAR(added("star", Operation::kReduce), 4e-3, 1e-9);
}

// cost.h has the first and last links of a way busy with messages, and counts the longer of both once; here
// processors do the sender's part, and the receiver's, while links carry.
TEST(RankProcessors, TakeWhatTheFormulaSaysOrTwice) {
  const Topology room = room_of("uniform:8,1GB/s,1us");
  const Handling handling{
      .message_seconds = 20e-6, .far_message_seconds = 20e-6, .add_seconds_per_byte = 0.07e-9};
  for (const char* route : {"ring", "bidirectional-ring", "halving-doubling", "recursive-doubling",
                            "binomial-tree", "star", "spread", "hierarchical"}) {
    for (const std::uint64_t bytes : {64u, 64'000u, 8'000'000u}) {
      const Demand demand{.bytes = bytes, .ranks = 8, .pipelined = false};
      const auto layout = lay_out(room, demand, route);
      ASSERT_TRUE(layout.ok()) << layout.status().message();
      const double formula = predicted_seconds(room, demand, *layout, handling);
      const double simulation = simulated(room, demand, route, handling);
      EXPECT_GE(simulation, 0.8 * formula) << route << " " << bytes;
      EXPECT_LE(simulation, 2.05 * formula) << route << " " << bytes;
    }
  }
}

}  // namespace
}  // namespace thalweg
