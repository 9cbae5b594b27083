#include "exchange/plan/lower_bound.h"

#include <gtest/gtest.h>

#include "topology/room_for_test.h"

namespace thalweg {
namespace {

double bound(const char* room, Operation operation, std::uint64_t bytes, std::uint32_t ranks,
             const char* route) {
  const Topology topology = room_of(room, ranks);
  const Demand demand{.operation = operation, .bytes = bytes, .ranks = ranks};
  return lower_bound_seconds(topology, demand, lay_out(topology, demand, route).value());
}

// 1 GB/s and 10 us: a megabyte takes a millisecond.
constexpr const char* kEight = "uniform:8,1GB/s,10us";

TEST(LowerBound, AddsTheLatencyToTheTimeOnTheLinks) {
  EXPECT_DOUBLE_EQ(bound(kEight, Operation::kPointToPoint, 1'000'000, 8, "ring"), 1.01e-3);
  EXPECT_DOUBLE_EQ(bound(kEight, Operation::kBroadcast, 1'000'000, 8, "chain"), 1.01e-3);
  EXPECT_DOUBLE_EQ(bound(kEight, Operation::kAllReduce, 1'000'000, 8, "ring"), 1.75e-3 + 10e-6);
  EXPECT_DOUBLE_EQ(bound(kEight, Operation::kReduceScatter, 1'000'000, 8, "ring"), 0.875e-3 + 10e-6);
  EXPECT_DOUBLE_EQ(bound(kEight, Operation::kGather, 1'000'000, 8, "star"), 0.875e-3 + 10e-6);
  EXPECT_DOUBLE_EQ(bound(kEight, Operation::kScatter, 1'000'000, 8, "star"), 0.875e-3 + 10e-6);
}

TEST(LowerBound, CountsNobodyWithoutAPart) {
  // Ranks 0 and 1 have one element each: only they depend on each other.
  for (const Operation operation : {Operation::kGather, Operation::kScatter}) {
    EXPECT_DOUBLE_EQ(bound(kEight, operation, 8, 8, "star"), 10e-6 + 4e-9);
    EXPECT_DOUBLE_EQ(bound(kEight, operation, 4, 8, "star"), 0) << "the root has all there is";
  }
  EXPECT_DOUBLE_EQ(bound("two-sites", Operation::kGather, 4, 8, "star"), 0);
  EXPECT_GT(bound("two-sites", Operation::kAllGather, 4, 8, "ring"), 10e-3);
  EXPECT_EQ(bound(kEight, Operation::kAllReduce, 0, 8, "ring"), 0);
  EXPECT_DOUBLE_EQ(bound(kEight, Operation::kBarrier, 0, 8, "ring"), 10e-6);
}

TEST(LowerBound, FindsTheNarrowestCutOfARoom) {
  // Half of the ranks behind 1 GB/s and 10 ms: all of the vector must come over.
  const double seconds = bound("two-sites", Operation::kAllReduce, 1'000'000, 32, "ring");
  EXPECT_GT(seconds, 11e-3);
  EXPECT_LT(seconds, 11.1e-3);
}

}  // namespace
}  // namespace thalweg
