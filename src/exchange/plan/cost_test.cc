#include "exchange/plan/cost.h"

#include <gtest/gtest.h>

#include "topology/presets.h"

namespace thalweg {
namespace {

constexpr double kBytesPerSecond = 1e9;

double seconds(const char* route, const Handling& handling, Operation operation = Operation::kAllReduce,
               bool pipelined = false) {
  const Topology room = preset("uniform:4,1GB/s,0").value();
  const Demand demand{.operation = operation, .bytes = 4'000'000, .ranks = 4, .pipelined = pipelined};
  return predicted_seconds(room, demand, lay_out(room, demand, route).value(), handling);
}

TEST(Cost, EachMessageKeepsBothItsEndsBusy) {
  const Handling handling{.message_seconds = 1e-3};
  EXPECT_NEAR(seconds("ring", handling), 6 * (1e6 / kBytesPerSecond + 1e-3), 1e-9);
  EXPECT_NEAR(seconds("recursive-doubling", handling), 2 * (4e6 / kBytesPerSecond + 1e-3), 1e-9);
  EXPECT_NEAR(seconds("spread", handling), 2 * 3 * (1e6 / kBytesPerSecond + 1e-3), 1e-9);
  // Four pieces a block.
  EXPECT_NEAR(seconds("ring", handling, Operation::kAllReduce, true), 6 * (1e6 / kBytesPerSecond + 4e-3),
              1e-9);
}

TEST(Cost, OnlyReductionsAdd) {
  const Handling handling{.add_seconds_per_byte = 1e-9};
  const auto added = [&](const char* route, Operation operation) {
    return seconds(route, handling, operation) - seconds(route, {}, operation);
  };
  EXPECT_NEAR(added("ring", Operation::kAllReduce), 3e-3, 1e-9);
  EXPECT_NEAR(added("recursive-doubling", Operation::kAllReduce), 8e-3, 1e-9);
  EXPECT_NEAR(added("halving-doubling", Operation::kReduceScatter), 3e-3, 1e-9);
  EXPECT_NEAR(added("gpu0", Operation::kReduce), 12e-3, 1e-9);
  EXPECT_NEAR(added("ring", Operation::kAllGather), 0, 1e-9);
  EXPECT_NEAR(added("chain", Operation::kBroadcast), 0, 1e-9);
}

TEST(Cost, BlocksLargerThanTheCacheAreFetchedAgain) {
  const auto fetched = [&](const char* route, double cache_bytes) {
    return seconds(route, {.fetch_seconds_per_byte = 1e-9, .cache_bytes = cache_bytes}) - seconds(route, {});
  };
  EXPECT_NEAR(fetched("ring", 0.5e6), 1e-3, 1e-9);
  EXPECT_NEAR(fetched("ring", 1.5e6), 0, 1e-9);
  EXPECT_NEAR(fetched("halving-doubling", 0.5e6), 6e-3, 1e-9);
  EXPECT_NEAR(fetched("halving-doubling", 1.5e6), 4e-3, 1e-9);
  EXPECT_NEAR(fetched("spread", 0.5e6), 3e-3, 1e-9);
}

}  // namespace
}  // namespace thalweg
