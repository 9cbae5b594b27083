// Servers that come while a job runs: who may, what they get, and who leaves the chains for that.
#include <gtest/gtest.h>

#include <algorithm>

#include "scheduler/members_for_test.h"
#include "wire/drain.h"

namespace thalweg {
namespace {

using namespace std::chrono_literals;

// With a table that all share, and one of a single range.
struct GrowingJob : BegunJob {
  GrowingJob(std::uint32_t servers, std::uint32_t replicas, Consistency consistency = {})
      : BegunJob(servers, replicas, consistency, {24, 1}) {}
  // Whether it was welcome, or why not.
  std::string come(std::uint32_t server) {
    scheduler.on_frame(now, temporary(50 + server), join(Role::kServer), out);
    for (const auto& [to, sent] : out.take()) {
      if (sent.head.op == Op::kStop) return status_of(sent).message();
    }
    scheduler.on_frame(now, server_node(server), heartbeat(), out);
    return "";
  }
  // Until nobody has anything to get.
  void settle() {
    for (int round = 0; round < 10 && scheduler.growing(); ++round) {
      for (std::uint32_t s = 0; s < scheduler.map().servers.size(); ++s) say_joined(s);
    }
    EXPECT_FALSE(scheduler.growing());
  }
  std::size_t owned(std::uint32_t server) const { return placement().owned_by(server).size(); }
  std::size_t kept(std::uint32_t server) const {
    return owned(server) + placement().copied_by(server).size();
  }
  NodeState state(std::uint32_t server) const {
    for (const JobNode& node : scheduler.status(now).nodes) {
      if (node.id == server_node(server)) return node.state;
    }
    return NodeState::kLost;
  }
};

TEST(SchedulerGrowth, AServerThatComesOwnsItsPartOnceItHasIt) {
  GrowingJob job(2, 1);
  EXPECT_EQ(job.come(2), "");
  EXPECT_EQ(job.scheduler.map().servers.size(), 3u);
  EXPECT_EQ(job.scheduler.map().first_servers(), 2u);
  EXPECT_EQ(job.state(2), NodeState::kJoining);
  EXPECT_EQ(job.owned(0) + job.owned(1), 24u) << "others own all until it has what they have";
  std::size_t coming = 0;
  for (const PlacedRun& run : job.placement().joined_by(2)) coming += run.ranges.size();
  EXPECT_EQ(coming, 8u);
  EXPECT_EQ(job.scheduler.ranges_in_sync(), 25u);
  job.now = job.now + 250ms;
  job.say_joined(2);
  for (std::uint32_t server = 0; server < 3; ++server) EXPECT_EQ(job.owned(server), 8u) << server;
  for (const PlacedRun& run : job.placement().runs()) EXPECT_EQ(run.chain.size(), 1u);
  EXPECT_EQ(job.scheduler.map().placement[1].owner(RangeId{0}), 0u) << "one range is nobody's to share";
  EXPECT_EQ(job.state(2), NodeState::kAlive);
  EXPECT_EQ(job.events,
            (std::vector<std::string>{"server-2 (127.0.0.1:1) joined; key ranges are to come to it",
                                      "server-2 takes part; it has 8 key ranges, after 0.250 s"}));
  EXPECT_EQ(job.scheduler.status(job.now).events.back().kind, JobEvent::Kind::kShared);
}

TEST(SchedulerGrowth, WithCopiesNoRangeHasFewerAtAnyTime) {
  for (const std::uint32_t replicas : {2u, 3u}) {
    GrowingJob job(3, replicas);
    EXPECT_EQ(job.come(3), "");
    for (int round = 0; round < 10 && job.scheduler.growing(); ++round) {
      for (std::uint32_t s = 0; s < 4; ++s) {
        job.say_joined(s);
        EXPECT_EQ(job.scheduler.ranges_in_sync(), 25u);
        for (const PlacedRun& run : job.placement().runs()) EXPECT_LE(run.chain.size(), replicas + 1);
      }
    }
    EXPECT_FALSE(job.scheduler.growing());
    for (std::uint32_t server = 0; server < 4; ++server) EXPECT_EQ(job.owned(server), 6u) << server;
    for (std::uint32_t server = 0; server < 4; ++server)
      EXPECT_NEAR(double(job.kept(server)), 6.0 * replicas, 4) << server;
    for (const PlacedRun& run : job.placement().runs()) {
      EXPECT_EQ(run.chain.size(), replicas);
      EXPECT_EQ(run.joining, 0u);
    }
  }
}

TEST(SchedulerGrowth, TheLaterOnesWaitForTheOnesBefore) {
  GrowingJob job(1, 1);
  for (const std::uint32_t server : {1u, 2u, 3u}) EXPECT_EQ(job.come(server), "");
  EXPECT_FALSE(job.placement().places(2));
  job.settle();
  for (std::uint32_t server = 0; server < 4; ++server) EXPECT_EQ(job.owned(server), 6u) << server;
}

// What it has is copied again; what it was to have stays.
TEST(SchedulerGrowth, AServerThatIsLostWhileItComesLeavesAllAsItWas) {
  GrowingJob job(2, 1);
  job.come(2);
  job.scheduler.on_peer_lost(job.now, server_node(2), job.out);
  EXPECT_FALSE(job.scheduler.stopped());
  EXPECT_FALSE(job.scheduler.growing());
  EXPECT_FALSE(job.placement().places(2));
  EXPECT_EQ(job.owned(0), 12u);
  job.come(3);
  job.settle();
  EXPECT_EQ(job.owned(3), 8u);
  EXPECT_EQ(job.scheduler.map().servers.size(), 4u);
}

// With as many servers as copies nobody could keep what a newcomer owns while the others leave.
TEST(SchedulerGrowth, InThePlaceOfALostOneAServerKeepsCopies) {
  GrowingJob job(2, 2);
  job.scheduler.on_peer_lost(job.now, server_node(1), job.out);
  EXPECT_EQ(job.scheduler.ranges_in_sync(), 0u);
  job.come(2);
  EXPECT_EQ(job.state(2), NodeState::kJoining);
  job.settle();
  EXPECT_EQ(std::ranges::count(job.events,
                               "server-2 takes part; it has 0 key ranges and copies of 25, after 0.000 s"),
            1);
  EXPECT_EQ(job.scheduler.ranges_in_sync(), 25u);
  EXPECT_EQ(job.kept(2), 24u);
  EXPECT_EQ(job.owned(0), 24u);
}

TEST(SchedulerGrowth, OneServerComesOrGoesAtATime) {
  GrowingJob job(2, 1);
  Frame question = make_frame(Op::kDrain, encode(wire::Drain{0}));
  job.come(2);
  job.scheduler.on_frame(job.now, temporary(77), question, job.out);
  bool refused = false;
  for (const auto& [to, sent] : job.out.take()) refused = refused || sent.head.code == Code::kRefused;
  EXPECT_TRUE(refused);
  job.settle();
  ++question.head.request;
  job.scheduler.on_frame(job.now, temporary(77), question, job.out);
  EXPECT_EQ(job.scheduler.leaving(), 0u);
  job.come(3);
  EXPECT_FALSE(job.placement().places(3)) << "it waits";
  for (int round = 0; round < 3; ++round)
    for (const std::uint32_t server : {1u, 2u}) job.say_joined(server);
  EXPECT_TRUE(job.scheduler.has_left(server_node(0)));
  job.settle();
  for (const std::uint32_t server : {1u, 2u, 3u}) EXPECT_EQ(job.owned(server), 8u) << server;
}

TEST(SchedulerGrowth, WhoCannotComeIsToldWhy) {
  GrowingJob counted(2, 1, Consistency::softsync(1));
  EXPECT_EQ(
      counted.come(2),
      "no server can join: which pushes make an update depends on who gets them, expected a job in sync, "
      "bounded or async mode");
  GrowingJob job(2, 1);
  for (const std::uint32_t server : {0u, 1u}) {
    Frame beat = heartbeat();
    beat.head.map_epoch = 1;
    job.scheduler.on_frame(job.now, server_node(server), beat, job.out);
  }
  ASSERT_TRUE(job.scheduler.place(TableId{0}, {0, 1}, {1}, job.out).ok());
  EXPECT_EQ(job.come(2),
            "no server can join: key ranges have been placed by hand, expected them as a job begins");
  job.scheduler.stop(job.now, ok_status(), job.out);
  job.out.take();
  EXPECT_EQ(job.come(3), "the job is over");
}

}  // namespace
}  // namespace thalweg
