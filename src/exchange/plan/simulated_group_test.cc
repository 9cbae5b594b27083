#include "exchange/plan/simulated_group.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "exchange/plan/flow_table.h"
#include "exchange/plan/layout.h"
#include "topology/network/fifo_network.h"
#include "topology/presets.h"

namespace thalweg {
namespace {

TEST(FlowTable, KeepsEachKeysNumberWhileItGrows) {
  FlowTable table;
  for (std::uint64_t key = 0; key < 5000; ++key) {
    std::uint32_t& flow = table[key << 40 | key % 7];
    EXPECT_EQ(flow, FlowTable::kNew);
    flow = static_cast<std::uint32_t>(key);
  }
  EXPECT_EQ(table.size(), 5000u);
  for (std::uint64_t key = 0; key < 5000; ++key) EXPECT_EQ(table[key << 40 | key % 7], key);
  EXPECT_EQ(table.size(), 5000u);
}

// A rank whose lanes are all looked at when something has come.
Picoseconds run_all_lanes(const Topology& room, const Layout& layout, const Call& call) {
  FifoNetwork network(room);
  SimulatedGroup group(network, layout.endpoints);
  std::vector<std::unique_ptr<Exchange>> exchanges;
  for (std::uint32_t rank = 0; rank < layout.size(); ++rank)
    exchanges.push_back(std::make_unique<Exchange>(call, layout.plan, rank, layout.size()));
  Picoseconds last = 0;
  const auto advance = [&](std::uint32_t rank) {
    if (!exchanges[rank]->done() && exchanges[rank]->advance(group.fabric(rank))) last = network.now();
  };
  for (std::uint32_t rank = 0; rank < layout.size(); ++rank) advance(rank);
  for (std::uint32_t changed = 0; group.next(changed);) advance(changed);
  for (const auto& exchange : exchanges) EXPECT_TRUE(exchange->done());
  return last;
}

TEST(SimulatedGroup, TakesAsLongWhereOneLaneIsLookedAt) {
  const Topology room = preset("rack-1g", 16).value();
  for (const char* route : {"hierarchical:4x2x2", "hierarchical:2tx2x2x2d", "double-tree", "rings:2", "ring",
                            "bidirectional-ring", "spread"}) {
    for (const std::uint32_t channels : {1u, 4u}) {
      const Demand demand{.bytes = 4'000'000, .ranks = 16};
      auto layout = lay_out(room, demand, route);
      ASSERT_TRUE(layout.ok()) << layout.status().message();
      layout->plan.channels = channels;
      layout->plan.piece_elements = 4096;
      Call call;
      call.operation = demand.operation;
      call.arithmetic.element_bytes = Demand::kElementBytes;
      call.count = demand.elements();
      call.phantom = true;
      FifoNetwork network(room);
      SimulatedGroup group(network, layout->endpoints);
      std::vector<std::unique_ptr<Exchange>> exchanges;
      for (std::uint32_t rank = 0; rank < layout->size(); ++rank)
        exchanges.push_back(std::make_unique<Exchange>(call, layout->plan, rank, layout->size()));
      std::vector<Picoseconds> finished;
      ASSERT_TRUE(group.run(exchanges, &finished).ok());
      EXPECT_EQ(*std::max_element(finished.begin(), finished.end()), run_all_lanes(room, *layout, call))
          << route << " in " << channels << " channels";
    }
  }
}

}  // namespace
}  // namespace thalweg
