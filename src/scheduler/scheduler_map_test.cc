// Key ranges that the scheduler gives to other servers.
#include <gtest/gtest.h>

#include "node/sent_frames_for_test.h"
#include "scheduler/scheduler.h"

namespace thalweg {
namespace {

// Two servers, one worker, and a table of 8 ranges.
struct MappedJob {
  MappedJob() : scheduler(options()) {
    for (std::uint32_t n = 0; n < 3; ++n) {
      const wire::Join join{n < 2 ? Role::kServer : Role::kWorker, false, "", "", ""};
      scheduler.on_frame({}, {Role::kWorker, (1u << 31) | n}, make_frame(Op::kJoin, encode(join)), out);
    }
    for (const NodeId node : {server_node(0), server_node(1), worker_node(0)}) beat(node, 0);
    out.take();
  }
  static SchedulerOptions options() {
    SchedulerOptions options;
    options.servers = 2;
    TableSpec table;
    table.name = "t";
    table.ranges = 8;
    options.tables = {table};
    return options;
  }
  void beat(NodeId node, std::uint32_t map_epoch) {
    Frame frame = make_frame(Op::kHeartbeat, encode(wire::Heartbeat{}));
    frame.head.map_epoch = map_epoch;
    scheduler.on_frame({}, node, frame, out);
  }
  Code place(std::uint16_t table, RangeSpan ranges, std::vector<std::uint32_t> chain) {
    return scheduler.place(TableId{table}, ranges, std::move(chain), out).code();
  }

  SentFrames out;
  Scheduler scheduler;
};

TEST(SchedulerMap, BeginsWithEvenIntervals) {
  MappedJob job;
  ASSERT_TRUE(job.scheduler.started());
  EXPECT_EQ(job.scheduler.map().placement, std::vector<Placement>{Placement::even(8, 2)});
}

TEST(SchedulerMap, TellsEverybodyWhoOwnsARangeNow) {
  MappedJob job;
  for (const NodeId server : {server_node(0), server_node(1)}) job.beat(server, 1);
  job.out.take();
  EXPECT_EQ(job.place(0, {1, 3}, {1, 0}), Code::kOk);
  const auto maps = job.out.take(Op::kMap);
  ASSERT_EQ(maps.size(), 3u);
  for (const auto& [to, frame] : maps) {
    const auto map = wire::decode_map(frame.first);
    ASSERT_TRUE(map.has_value());
    EXPECT_EQ(map->epoch, 2u);
    EXPECT_EQ(text_of(map->placement[0].owned_by(0)), "[0,1) [3,4)");
    EXPECT_EQ(map->placement[0].runs()[1].chain, (std::vector<std::uint32_t>{1, 0}));
  }
  EXPECT_EQ(job.place(0, {1, 3}, {1, 0}), Code::kOk);  // It is so already.
  EXPECT_TRUE(job.out.take(Op::kMap).empty());
}

// A server that gets its first map by then would neither give up nor await anything.
TEST(SchedulerMap, MovesNothingBeforeAllServersHaveAMap) {
  MappedJob job;
  EXPECT_EQ(job.place(0, {1, 3}, {1}), Code::kRetry);
  job.beat(server_node(1), 1);
  EXPECT_EQ(job.place(0, {1, 3}, {1}), Code::kRetry);
  job.beat(server_node(0), 1);
  EXPECT_EQ(job.place(0, {1, 3}, {1}), Code::kOk);
  job.scheduler.stop({}, ok_status(), job.out);
  EXPECT_EQ(job.place(0, {1, 3}, {0}), Code::kRetry);
}

TEST(SchedulerMap, RefusesRangesAndChainsThatAreNone) {
  MappedJob job;
  for (const NodeId server : {server_node(0), server_node(1)}) job.beat(server, 1);
  EXPECT_EQ(job.place(1, {1, 3}, {1}), Code::kUsage);
  EXPECT_EQ(job.place(0, {3, 3}, {1}), Code::kUsage);
  EXPECT_EQ(job.place(0, {3, 9}, {1}), Code::kUsage);
  EXPECT_EQ(job.place(0, {3, 4}, {2}), Code::kUsage);
  EXPECT_EQ(job.place(0, {3, 4}, {}), Code::kUsage);
  EXPECT_EQ(job.place(0, {3, 4}, {1, 1}), Code::kUsage);
  EXPECT_EQ(job.scheduler.map().epoch, 1u);
}

TEST(SchedulerMap, NamesTheRangesThatALostServerHasNow) {
  MappedJob job;
  for (const NodeId server : {server_node(0), server_node(1)}) job.beat(server, 1);
  ASSERT_EQ(job.place(0, {1, 3}, {1}), Code::kOk);
  job.scheduler.on_peer_lost({}, server_node(0), job.out);
  ASSERT_TRUE(job.scheduler.stopped().has_value());
  EXPECT_EQ(job.scheduler.stopped()->message(),
            "server-0 closed its connection; lost key ranges: t [0,1) [3,4) of 8");
}

}  // namespace
}  // namespace thalweg
