// What a scheduler tells of its job, and of losses that others make good.
#include <gtest/gtest.h>

#include <algorithm>

#include "scheduler/members_for_test.h"

namespace thalweg {
namespace {

using namespace std::chrono_literals;
using Kind = JobEvent::Kind;

// Three servers, each key range on `replicas` of them, and one worker; begun at the first instant.
struct CopiedJob {
  explicit CopiedJob(std::uint32_t replicas) : scheduler(options(replicas)) {
    begin_with_three_servers(scheduler, out);
  }
  SchedulerOptions options(std::uint32_t replicas) {
    SchedulerOptions job;
    job.servers = 3;
    job.replicas = replicas;
    job.shards = 3;
    job.tables.resize(1);
    job.tables[0].name = "weights";
    job.tables[0].ranges = 12;
    job.on_event = [this](const std::string& event) { events.push_back(event); };
    return job;
  }
  void beat(Duration at, std::uint32_t server, std::uint32_t map_epoch) {
    Frame frame = heartbeat();
    frame.head.map_epoch = map_epoch;
    scheduler.on_frame(Instant{} + at, server_node(server), std::move(frame), out);
  }
  void lose(Duration at, std::uint32_t server) {
    scheduler.on_peer_lost(Instant{} + at, server_node(server), out);
  }
  std::vector<ServerFailover> failovers() const { return scheduler.view().failovers; }

  std::vector<std::string> events;
  SentFrames out;
  Scheduler scheduler;
};

TEST(SchedulerStatus, ALossIsMadeGoodOnceAllOfItsChainsActWithoutIt) {
  CopiedJob job(2);
  EXPECT_TRUE(job.failovers().empty());
  job.beat(100ms, 1, 1);
  job.lose(350ms, 1);
  ASSERT_EQ(job.failovers().size(), 1u);
  EXPECT_EQ(job.failovers()[0].server, 1u);
  EXPECT_EQ(job.failovers()[0].detected, 250ms);
  job.beat(360ms, 0, 1);  // Sent before it had the new map.
  job.beat(370ms, 0, 2);
  EXPECT_FALSE(job.failovers()[0].recovered.has_value()) << "server-2 has not spoken";
  job.beat(375ms, 2, 2);
  EXPECT_EQ(job.failovers()[0].recovered, Duration(25ms));
  job.beat(500ms, 2, 2);
  EXPECT_EQ(job.failovers()[0].recovered, Duration(25ms));
  EXPECT_EQ(job.events.back(),
            "server-0, server-2 go on without server-1, 25.0 ms after it was taken for lost");
}

TEST(SchedulerStatus, AnHeirThatIsLostTooLeavesTheLossToThoseWhoAreLeft) {
  CopiedJob job(3);
  job.lose(10ms, 1);
  job.beat(11ms, 0, 2);
  job.lose(12ms, 2);
  EXPECT_FALSE(job.failovers()[0].recovered.has_value());
  job.beat(13ms, 0, 2);
  EXPECT_FALSE(job.failovers()[0].recovered.has_value()) << "it does not know of the second loss";
  job.beat(15ms, 0, 3);
  EXPECT_EQ(job.failovers()[0].recovered, Duration(5ms));
  EXPECT_EQ(job.failovers()[1].recovered, Duration(3ms));
}

TEST(SchedulerStatus, ALossThatEndsTheJobIsNoFailover) {
  CopiedJob job(1);
  job.lose(10ms, 1);
  EXPECT_TRUE(job.scheduler.stopped().has_value());
  EXPECT_TRUE(job.failovers().empty());
  const std::vector<JobEvent> events = job.scheduler.status(Instant{} + 1s).events;
  ASSERT_GE(events.size(), 2u);
  EXPECT_EQ(events[events.size() - 2].kind, Kind::kLost);
  EXPECT_EQ(events.back().kind, Kind::kEnded);
  EXPECT_EQ(events.back().cause,
            "server-1 (127.0.0.1:1) closed its connection; lost key ranges: weights [4,8) of 12");
}

TEST(SchedulerStatus, TellsWhoIsThereAndWhichRangesHaveAllTheirCopies) {
  CopiedJob job(2);
  job.scheduler.on_frame(Instant{} + 1s, temporary(9), join(Role::kWorker), job.out);
  JobStatus status = job.scheduler.status(Instant{} + 1s);
  EXPECT_EQ(status.age, 1s);
  EXPECT_EQ(status.epoch, 1u);
  EXPECT_EQ(status.replicas, 2u);
  EXPECT_EQ(status.ranges, 12u);
  EXPECT_EQ(status.ranges_in_sync, 12u);
  EXPECT_EQ(status.last_checkpoint, "");
  ASSERT_EQ(status.nodes.size(), 5u);
  EXPECT_EQ(status.nodes[0].address, "127.0.0.1:1");
  EXPECT_EQ(status.nodes[0].pid, 4711u);
  EXPECT_EQ(status.nodes[4].id, worker_node(1));
  EXPECT_EQ(status.nodes[4].state, NodeState::kJoining);
  job.lose(2s, 1);
  status = job.scheduler.status(Instant{} + 2s);
  EXPECT_EQ(status.epoch, 2u);
  EXPECT_EQ(status.ranges_in_sync, 4u) << "server-1 was in the chains of eight";
  EXPECT_EQ(status.nodes[1].state, NodeState::kLost);
  EXPECT_EQ(status.nodes[2].state, NodeState::kAlive);
}

TEST(SchedulerStatus, NamesTheShardsThatAreBehind) {
  CopiedJob job(1);
  EXPECT_TRUE(job.scheduler.status({}).stragglers.empty());
  for (const auto& [shard, step] : {std::pair(0u, 16u), {1u, 8u}, {2u, 16u}}) {
    Frame report = make_frame(Op::kReport);
    report.head.shard = ShardId{shard};
    report.head.step = {2, step};
    job.scheduler.on_frame({}, worker_node(0), report, job.out);
  }
  const JobStatus status = job.scheduler.status({});
  EXPECT_EQ(status.fastest, (ReportId{2, 16}));
  EXPECT_EQ(status.slowest, (ReportId{2, 8}));
  ASSERT_EQ(status.stragglers.size(), 1u);
  EXPECT_EQ(status.stragglers[0].shard, ShardId{1});
}

TEST(SchedulerStatus, TheTimelineSaysWhatBecameOfWhom) {
  CopiedJob job(2);
  job.scheduler.on_node_dead(Instant{} + 3s, "test", "was ended by signal 9", job.out);
  const std::vector<JobEvent> events = job.scheduler.status(Instant{} + 3s).events;
  const std::vector<Kind> begin = {Kind::kJoined, Kind::kJoined, Kind::kJoined, Kind::kJoined, Kind::kBegan};
  ASSERT_GT(events.size(), begin.size());
  for (std::size_t i = 0; i < begin.size(); ++i) EXPECT_EQ(events[i].kind, begin[i]);
  EXPECT_EQ(events[5].kind, Kind::kLost);
  EXPECT_EQ(events[5].node, server_node(0));
  EXPECT_EQ(events[5].at, 3s);
  EXPECT_EQ(events[5].cause, "was ended by signal 9");
  EXPECT_EQ(events[6].kind, Kind::kPromoted);
  EXPECT_EQ(events[6].node, server_node(1));
  EXPECT_EQ(events[6].cause, "owns 2 key ranges of server-0");
}

// A server that does nothing but come back keeps no more than a ring of it.
TEST(SchedulerStatus, TheTimelineHasABound) {
  Timeline timeline;
  for (std::uint32_t i = 0; i < wire::kEventsMax + 7; ++i)
    timeline.add(Instant{} + Duration(i), Kind::kLost, worker_node(i), std::string(100000, 'x'));
  const std::vector<JobEvent> events = timeline.events();
  ASSERT_EQ(events.size(), wire::kEventsMax);
  EXPECT_EQ(timeline.forgotten(), 7u);
  EXPECT_EQ(events.front().node, worker_node(7));
  EXPECT_EQ(events.front().cause.size(), wire::kCauseBytesMax);
}

// Also before the job begins, and of whoever asks: it stays a stranger.
TEST(SchedulerStatus, WhoeverAsksIsToldAndNeitherJoinsNorCounts) {
  Cluster c(false);
  for (const NodeId from : {temporary(5), worker_node(7), server_node(0)}) {
    Frame question = make_frame(Op::kStatus, Bytes::of(std::string_view("garbage")));
    question.head.request = 17;
    question.head.cluster = ~std::uint64_t{0};
    const auto answers = c.tell(from, question);
    ASSERT_EQ(answers.size(), 1u);
    EXPECT_EQ(answers[0].first, from);
    EXPECT_EQ(answers[0].second.head.op, Op::kStatusReply);
    EXPECT_EQ(answers[0].second.head.request, 17u);
    const auto status = wire::decode_job_status(answers[0].second.first);
    ASSERT_TRUE(status.has_value());
    EXPECT_TRUE(status->nodes.empty());
    EXPECT_EQ(status->ranges, 256u);
    EXPECT_EQ(status->waits_for, "server-0, worker-0, worker-1");
  }
  c.scheduler->on_peer_lost(c.now, temporary(5), c.out);
  EXPECT_EQ(c.scheduler->missing(), "server-0, worker-0, worker-1");
  EXPECT_FALSE(c.scheduler->stopped().has_value());
}

}  // namespace
}  // namespace thalweg
