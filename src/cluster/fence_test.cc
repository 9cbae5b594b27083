#include "cluster/fence.h"

#include <gtest/gtest.h>

#include "cluster/map_for_test.h"

namespace thalweg::cluster {
namespace {

TEST(Fence, APushComesFromItsOwnerOrWhomItPassesThrough) {
  const wire::Map map = map_for_test(Combining::machine());
  const CombineTree tree(map);
  const auto code_of = [&](NodeId from, std::uint32_t shard, std::uint8_t block, std::uint32_t owner_epoch) {
    FrameHeader head;
    head.op = Op::kPush;
    head.shard = ShardId{shard};
    head.block = block;
    head.owner_epoch = owner_epoch;
    return check_owner(from, head, map, tree).code();
  };
  EXPECT_EQ(code_of(worker_node(1), 1, 0, 0), Code::kOk);
  EXPECT_EQ(code_of(worker_node(0), 1, 0, 0), Code::kOk);
  EXPECT_EQ(code_of(worker_node(4), 1, 0, 0), Code::kRefused);
  EXPECT_EQ(code_of(server_node(1), 1, 0, 0), Code::kRefused);
  EXPECT_EQ(code_of(worker_node(0), 0, 1, 0), Code::kOk);
  EXPECT_EQ(code_of(worker_node(1), 0, 1, 0), Code::kRefused);  // Shard 0 is not its own.
  EXPECT_EQ(code_of(worker_node(0), 0, 2, 0), Code::kRefused);  // Shard 2 is of the other machine.
  EXPECT_EQ(code_of(worker_node(0), 4, 2, 0), Code::kRefused);  // There is no shard 7.
  EXPECT_EQ(code_of(worker_node(4), 3, 0, 4), Code::kAborted);
  EXPECT_EQ(code_of(worker_node(0), 3, 0, 5), Code::kOk);
}

TEST(Fence, AFrameIsOfTheNewestMap) {
  const wire::Map map = map_for_test(Combining::none());
  const auto code_of = [&](std::uint32_t epoch) {
    FrameHeader head;
    head.map_epoch = epoch;
    return check_map_epoch(head, map).code();
  };
  EXPECT_EQ(code_of(2), Code::kStale);
  EXPECT_EQ(code_of(3), Code::kOk);
  EXPECT_EQ(code_of(4), Code::kRetry);
}

}  // namespace
}  // namespace thalweg::cluster
