#include "exchange/plan/estimate.h"

#include <gtest/gtest.h>

#include <cmath>

#include "exchange/plan/cost.h"
#include "exchange/plan/simulate_exchange.h"
#include "topology/room_for_test.h"

namespace thalweg {
namespace {

TEST(Estimate, IsNearTheSimulationOfTheWholeVector) {
  int shorter = 0;
  for (const char* name : {"uniform:7,1GB/s,10us", "rack-10g", "two-sites", "dgx1v", "fat-tree"}) {
    const Topology room = room_of(name, std::string_view(name) == "fat-tree" ? 16 : 0);
    for (const std::uint64_t bytes : {100'000u, 40'000'000u}) {
      const Demand demand{.bytes = bytes, .ranks = room.rank_count()};
      for (const std::string& route : all_routes(room, demand)) {
        Layout layout = lay_out(room, demand, route).value();
        for (const std::uint64_t piece : {layout.plan.piece_elements, std::uint64_t{16'384}}) {
          layout.plan.piece_elements = piece;
          const double messages = predicted_messages(demand, layout);
          if (messages > 40'000) continue;
          const auto truth = simulate_exchange(room, demand, layout);
          const auto estimate = estimated_seconds(room, demand, layout);
          ASSERT_TRUE(truth.ok() && estimate.ok());
          EXPECT_NEAR(*estimate / truth->seconds, 1, 0.06)
              << name << " " << route << " " << bytes << " piece " << piece;
          if (estimated_messages(room, demand, layout) < messages) ++shorter;
        }
      }
    }
  }
  EXPECT_GT(shorter, 20);
}

// Small pieces by the hundred fill windows first.
TEST(Estimate, HoldsForLongChains) {
  const Topology room = room_of("rack-100g", 16);
  for (const std::uint64_t bytes : {4'000'000u, 8'000'000u}) {
    const Demand demand{.bytes = bytes, .ranks = 16};
    Layout layout = lay_out(room, demand, "chain").value();
    layout.plan.piece_elements = 1024;
    const double truth = simulate_exchange(room, demand, layout)->seconds;
    EXPECT_NEAR(estimated_seconds(room, demand, layout).value() / truth, 1, 0.06);
  }
}

TEST(Estimate, CountsTheMessagesThatAreSent) {
  const Topology room = room_of("uniform:8,1GB/s,10us");
  for (const Operation operation :
       {Operation::kAllReduce, Operation::kReduceScatter, Operation::kBroadcast}) {
    const Demand demand{.operation = operation, .bytes = 1'000'000, .ranks = 8};
    for (const char* route : {"ring", "halving-doubling", "chain", "spread", "hierarchical:2x2x2"}) {
      auto layout = lay_out(room, demand, route);
      if (!layout.ok()) continue;
      layout->plan.piece_elements = 2'500;
      for (const std::uint32_t channels : {1u, 4u}) {
        layout->plan.channels = channels;
        if (!check_plan(layout->plan, operation, 8).ok()) continue;
        const auto messages = static_cast<double>(simulate_exchange(room, demand, *layout)->messages);
        EXPECT_NEAR(predicted_messages(demand, *layout) / messages, 1, 0.25)
            << operation_name(operation) << " " << route << " " << channels;
      }
    }
  }
}

TEST(Estimate, GivesUp) {
  const Topology room = room_of("uniform:8,1GB/s,10us");
  const Demand demand{.bytes = 1'000'000, .ranks = 8};
  const Layout layout = lay_out(room, demand, "ring").value();
  const double seconds = estimated_seconds(room, demand, layout).value();
  EXPECT_EQ(estimated_seconds(room, demand, layout, {.give_up_after = 1.01 * seconds}).value(), seconds);
  EXPECT_TRUE(std::isinf(estimated_seconds(room, demand, layout, {.give_up_after = 0.99 * seconds}).value()));
}

}  // namespace
}  // namespace thalweg
