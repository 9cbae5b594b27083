// Copies of lost servers, which others are to make again.
#include <gtest/gtest.h>

#include "node/sent_frames_for_test.h"
#include "scheduler/scheduler.h"

namespace thalweg {
namespace {

// Some servers, one worker, and a table of 12 ranges.
struct RejoinedJob {
  RejoinedJob(std::uint32_t servers, std::uint32_t replicas) : scheduler(options(servers, replicas)) {
    for (std::uint32_t n = 0; n <= servers; ++n) {
      const wire::Join join{n < servers ? Role::kServer : Role::kWorker, false, "", "", ""};
      scheduler.on_frame({}, {Role::kWorker, (1u << 31) | n}, make_frame(Op::kJoin, encode(join)), out);
    }
    for (std::uint32_t s = 0; s < servers; ++s) beat(server_node(s));
    beat(worker_node(0));
    out.take();
  }
  SchedulerOptions options(std::uint32_t servers, std::uint32_t replicas) {
    SchedulerOptions options;
    options.servers = servers;
    options.replicas = replicas;
    TableSpec table;
    table.name = "t";
    table.ranges = 12;
    options.tables = {table};
    options.on_event = [this](const std::string& text) { events.push_back(text); };
    return options;
  }
  void beat(NodeId node) {
    scheduler.on_frame(now, node, make_frame(Op::kHeartbeat, encode(wire::Heartbeat{})), out);
  }
  void lose(std::uint32_t server) { scheduler.on_peer_lost(now, server_node(server), out); }
  const Placement& placement() const { return scheduler.map().placement[0]; }
  // All that it was to join, or what is given.
  void say_joined(std::uint32_t server, std::optional<wire::Joined> message = {}) {
    if (!message) {
      message.emplace();
      for (const PlacedRun& run : placement().joined_by(server))
        message->runs.push_back({TableId{0}, run.ranges, run.joining});
    }
    scheduler.on_frame(now, server_node(server), make_frame(Op::kJoined, encode(*message)), out);
  }
  std::size_t joining() const {
    std::size_t ranges = 0;
    for (const PlacedRun& run : placement().runs()) ranges += run.joining != 0 ? run.ranges.size() : 0;
    return ranges;
  }

  Instant now{};
  SentFrames out;
  std::vector<std::string> events;
  Scheduler scheduler;
};

TEST(SchedulerCopies, ChainsThatLoseAServerGetAnotherInTheSameMap) {
  RejoinedJob job(4, 2);
  EXPECT_EQ(job.scheduler.ranges_in_sync(), 12u);
  job.lose(1);
  EXPECT_EQ(job.scheduler.map().epoch, 2u);
  EXPECT_EQ(job.joining(), 6u);  // Three that it owned, and three of which it had copies.
  EXPECT_EQ(job.scheduler.ranges_in_sync(), 6u);
  std::map<std::uint32_t, std::size_t> ranges;
  for (const PlacedRun& run : job.placement().runs()) {
    EXPECT_EQ(run.chain.size(), 2u);
    for (const std::uint32_t server : run.chain) ranges[server] += run.ranges.size();
  }
  EXPECT_EQ(ranges, (std::map<std::uint32_t, std::size_t>{{0, 8}, {2, 8}, {3, 8}}));
}

TEST(SchedulerCopies, TellsWhenAndWhereCopiesAreMadeAgain) {
  RejoinedJob job(4, 2);
  job.lose(1);
  job.now = job.now + std::chrono::milliseconds(40);
  std::string servers;
  for (const std::uint32_t server : {0u, 2u, 3u}) {
    if (job.placement().joined_by(server).empty()) continue;
    EXPECT_EQ(job.events.size(), 1u);
    servers += (servers.empty() ? "" : ", ") + node_name(server_node(server));
    job.say_joined(server);
  }
  ASSERT_EQ(job.events.size(), 2u);
  EXPECT_EQ(job.events[1], "copies of 6 key ranges of server-1 made again in 40 ms at " + servers);
  EXPECT_EQ(job.joining(), 0u);
  EXPECT_EQ(job.scheduler.ranges_in_sync(), 12u);
  EXPECT_FALSE(job.scheduler.copying_since().has_value());
}

TEST(SchedulerCopies, ASecondServerMayBeLostOnceCopiesAreMadeAgain) {
  for (const bool made : {false, true}) {
    RejoinedJob job(3, 2);
    job.lose(1);
    if (made) job.say_joined(0), job.say_joined(2);
    job.lose(2);
    EXPECT_EQ(job.scheduler.stopped().has_value(), !made);
  }
}

TEST(SchedulerCopies, WhatIsSaidOfAnotherAttemptOrByAnotherCountsForNothing) {
  RejoinedJob job(4, 2);
  job.lose(1);
  const PlacedRun run = [&] {
    for (const PlacedRun& each : job.placement().runs()) {
      if (each.joining != 0) return each;
    }
    return PlacedRun{};
  }();
  const std::uint32_t epoch = job.scheduler.map().epoch, joiner = run.chain.back();
  job.say_joined(joiner, wire::Joined{{{TableId{0}, run.ranges, run.joining - 1}}});
  job.say_joined(run.chain.front(), wire::Joined{{{TableId{0}, run.ranges, run.joining}}});
  job.say_joined(joiner, wire::Joined{{{TableId{1}, run.ranges, run.joining}}});
  EXPECT_EQ(job.scheduler.map().epoch, epoch);
  EXPECT_EQ(job.joining(), 6u);
  job.say_joined(joiner);
  EXPECT_EQ(job.scheduler.map().epoch, epoch + 1);
  job.say_joined(joiner, wire::Joined{{{TableId{0}, run.ranges, run.joining}}});  // Once more.
  EXPECT_EQ(job.scheduler.map().epoch, epoch + 1);
}

TEST(SchedulerCopies, OneJoinsAfterTheOtherWhereTwoAreLost) {
  RejoinedJob job(5, 3);
  job.lose(1);
  job.lose(2);
  for (int round = 0; round < 10 && job.joining() > 0; ++round) {
    for (const PlacedRun& run : job.placement().runs()) {
      EXPECT_LE(run.chain.size(), 3u);
      EXPECT_GE(run.in_sync().size(), 1u);
    }
    for (const std::uint32_t server : {0u, 3u, 4u}) job.say_joined(server);
  }
  EXPECT_EQ(job.scheduler.ranges_in_sync(), 12u);
  EXPECT_FALSE(job.scheduler.copying_since().has_value());
}

TEST(SchedulerCopies, RangesThatHaveCopiesStayWhereTheyAre) {
  RejoinedJob job(3, 2);
  EXPECT_EQ(job.scheduler.place(TableId{0}, {0, 1}, {1, 0}, job.out).code(), Code::kUsage);
}

TEST(SchedulerCopies, NothingIsPlannedWhereNoOtherServerIsLeft) {
  RejoinedJob job(2, 2);
  job.lose(1);
  EXPECT_EQ(job.joining(), 0u);
  EXPECT_EQ(job.scheduler.ranges_in_sync(), 0u);
  EXPECT_FALSE(job.scheduler.copying_since().has_value());
  EXPECT_EQ(job.events.size(), 1u);
}

}  // namespace
}  // namespace thalweg
