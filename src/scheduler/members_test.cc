// Who takes part in a job: who joins it, who is missing, and whose end is known.
#include <gtest/gtest.h>

#include "scheduler/kept_job_for_test.h"
#include "scheduler/members_for_test.h"

namespace thalweg {
namespace {

TEST(Scheduler, NamesWhoIsMissingAndStartsWhenAllAreThere) {
  Cluster c(false);
  EXPECT_EQ(c.scheduler->missing(), "server-0, worker-0, worker-1");
  EXPECT_EQ(c.name(temporary(9), join(Role::kWorker)), worker_node(0));
  EXPECT_EQ(c.name(temporary(8), join(Role::kServer)), server_node(0));
  c.tell(worker_node(0), heartbeat());
  c.tell(server_node(0), heartbeat());
  EXPECT_EQ(c.scheduler->missing(), "worker-1");
  EXPECT_FALSE(c.scheduler->started());
  c.tell(temporary(7), join(Role::kWorker));
  EXPECT_FALSE(c.scheduler->started());
  c.tell(worker_node(1), heartbeat());
  EXPECT_TRUE(c.scheduler->started());
}

TEST(Scheduler, NamesTheObserverThatHasNotSpoken) {
  Cluster c(false);
  c.tell(temporary(100), join(Role::kWorker, true));
  for (std::uint32_t n = 1; n <= 3; ++n) c.tell(temporary(n), join(n == 1 ? Role::kServer : Role::kWorker));
  for (const NodeId member : {server_node(0), worker_node(0), worker_node(1)}) c.tell(member, heartbeat());
  EXPECT_FALSE(c.scheduler->started());
  EXPECT_EQ(c.scheduler->missing(), "the observer");
  c.tell(worker_node(wire::kFirstObserver), heartbeat());
  EXPECT_TRUE(c.scheduler->started());
}

// Nobody has the map before everybody can be reached under the name that it gives them.
TEST(Scheduler, NoMapOvertakesAWelcome) {
  Cluster c(false);
  for (std::uint32_t n = 1; n <= 3; ++n) c.tell(temporary(n), join(n == 1 ? Role::kServer : Role::kWorker));
  for (const NodeId early : {worker_node(0), worker_node(1)}) {
    for (const auto& [to, sent] : c.tell(early, heartbeat())) EXPECT_NE(sent.head.op, Op::kMap);
  }
  std::vector<NodeId> told;
  for (const auto& [to, sent] : c.tell(server_node(0), heartbeat())) {
    if (sent.head.op == Op::kMap) told.push_back(to);
  }
  ASSERT_GE(told.size(), 3u);
  EXPECT_EQ(told.front(), server_node(0));
}

TEST(Scheduler, ARepeatedJoinGetsTheSameName) {
  Cluster c(false);
  EXPECT_EQ(c.name(temporary(9), join(Role::kWorker)), worker_node(0));
  EXPECT_EQ(c.name(temporary(9), join(Role::kWorker)), worker_node(0));
  EXPECT_EQ(c.scheduler->view().workers, 1u);
}

TEST(Scheduler, ALateWorkerGetsItsShareOfDataShards) {
  Cluster c;
  EXPECT_EQ(c.name(temporary(9), join(Role::kWorker)), worker_node(2));
  EXPECT_EQ(c.map().epoch, 1u) << "nobody knows yet whether it can be spoken to";
  c.tell(worker_node(2), heartbeat());
  EXPECT_EQ(c.map().shards, (std::vector<wire::ShardOwner>{{0, 0}, {1, 0}, {2, 1}, {1, 0}}));
  c.tell(worker_node(2), heartbeat());
  EXPECT_EQ(c.map().epoch, 2u) << "once";
  EXPECT_EQ(c.events, (std::vector<std::string>{"worker-2 (test) joined; it has 1 data shard of worker-0"}));
  const JobStatus status = c.scheduler->status(c.now);
  EXPECT_EQ(status.nodes.back().id, worker_node(2));
  EXPECT_EQ(status.nodes.back().state, NodeState::kAlive);
  EXPECT_EQ(status.events.back().kind, JobEvent::Kind::kReassigned);
  EXPECT_EQ(status.events.back().cause, "has 1 data shard of worker-0");
}

TEST(Scheduler, AServerMoreIsRefusedUntilTheJobHasBegun) {
  Cluster c(false);
  c.tell(temporary(1), join(Role::kServer));
  const auto answers = c.tell(temporary(10), join(Role::kServer));
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].second.head.op, Op::kStop);
  EXPECT_EQ(answers[0].second.head.code, Code::kRefused);
  EXPECT_EQ(answers[0].second.first.text(),
            "no server can join: the job has all its servers, 1 of 1, expected more once it has begun");
}

// From those who have most; one more would not make it even.
TEST(Scheduler, LateWorkersTakeFromThoseWhoHaveMost) {
  Cluster c;
  c.scheduler->on_peer_lost(c.now, worker_node(0), c.out);
  c.name(temporary(9), join(Role::kWorker));
  c.tell(worker_node(2), heartbeat());
  EXPECT_EQ(c.map().shards, (std::vector<wire::ShardOwner>{{1, 1}, {1, 0}, {2, 2}, {2, 1}}));
  EXPECT_EQ(c.events.back(), "worker-2 (test) joined; it has 2 data shards of worker-1");
  for (std::uint32_t late = 3; late < 6; ++late) {
    c.name(temporary(10 + late), join(Role::kWorker));
    c.tell(worker_node(late), heartbeat());
  }
  EXPECT_EQ(c.map().shards, (std::vector<wire::ShardOwner>{{1, 1}, {3, 1}, {2, 2}, {4, 2}}));
  EXPECT_EQ(c.events.back(),
            "worker-5 (test) joined; it stands by for the data shards of workers that are lost");
}

TEST(Scheduler, ShardsThatHaveEndedStay) {
  Cluster c;
  for (const std::uint32_t shard : {0u, 1u, 3u}) {
    Frame end = make_frame(Op::kReport);
    end.head.shard = ShardId{shard};
    end.head.flags = frame_flags::kEndOfWork;
    c.tell(worker_node(shard % 2), end);
  }
  c.name(temporary(9), join(Role::kWorker));
  c.tell(worker_node(2), heartbeat());
  EXPECT_EQ(c.map().epoch, 1u);
}

// One of them is newer than the scheduler, and counts what that does not know.
TEST(Scheduler, SumsUpWhatItsNodesCount) {
  Cluster c;
  const auto counted = [&](std::uint64_t pushes, std::uint64_t staleness) {
    wire::Heartbeat beat;
    beat.counters.set(CounterId::kPushes, pushes);
    beat.counters.set(CounterId::kStalenessMax, staleness);
    beat.counters.set(CounterId{40000}, 1);
    return make_frame(Op::kHeartbeat, encode(beat));
  };
  for (const std::uint64_t pushes : {3, 5}) c.tell(server_node(0), counted(pushes, 2));
  c.tell(worker_node(0), counted(1, 1));
  Counters expected;
  expected.set(CounterId::kPushes, 6);
  expected.set(CounterId::kStalenessMax, 2);
  EXPECT_EQ(c.scheduler->view().counters, expected);
}

Frame join_as(Role role, const std::string& name) {
  return make_frame(Op::kJoin, encode(wire::Join{role, false, "127.0.0.1:1", name, "one"}));
}

// Nobody waits for the silence of one whose end is known.
TEST(Scheduler, ADeadNodeIsLostAtOnce) {
  Cluster c(false);
  c.tell(temporary(1), join_as(Role::kServer, "process 1"));
  c.tell(temporary(2), join_as(Role::kWorker, "process 2"));
  c.tell(temporary(3), join_as(Role::kWorker, "process 3"));
  for (const NodeId member : {server_node(0), worker_node(0), worker_node(1)}) c.tell(member, heartbeat());
  c.scheduler->on_node_dead(c.now, "process 4", "was ended by signal 9", c.out);
  EXPECT_EQ(c.map().epoch, 1u);
  c.scheduler->on_node_dead(c.now, "process 2", "was ended by signal 9", c.out);
  EXPECT_EQ(c.map().shards, (std::vector<wire::ShardOwner>{{1, 1}, {1, 0}, {1, 1}, {1, 0}}));
  c.scheduler->on_node_dead(c.now, "process 1", "was ended by signal 9", c.out);
  EXPECT_EQ(c.scheduler->stopped(),
            Status(Code::kPeerLost,
                   "server-0 (127.0.0.1:1) was ended by signal 9; lost key ranges: t [0,256) of 256"));
}

TEST(Scheduler, TheEndOfAJobWaitsForNoDeadNode) {
  Cluster c(false);
  c.tell(temporary(1), join_as(Role::kServer, "process 1"));
  c.tell(temporary(2), join_as(Role::kWorker, "process 2"));
  c.tell(temporary(3), join_as(Role::kWorker, "process 3"));
  for (const NodeId member : {server_node(0), worker_node(0), worker_node(1)}) c.tell(member, heartbeat());
  c.scheduler->stop(c.now, Status(Code::kPeerLost, "lost key ranges"), c.out);
  c.scheduler->on_time(c.now, c.out);
  for (const char* const process : {"process 1", "process 2", "process 3"}) {
    EXPECT_FALSE(c.scheduler->finished());
    c.scheduler->on_node_dead(c.now, process, "was ended by signal 9", c.out);
    EXPECT_EQ(c.scheduler->next_deadline(), c.now);
    c.scheduler->on_time(c.now, c.out);
  }
  EXPECT_TRUE(c.scheduler->finished());
}

TEST(Scheduler, AnotherTakesThePlaceOfAWorkerThatDiedBeforeTheJobBegan) {
  Cluster c(false);
  c.tell(temporary(1), join_as(Role::kServer, "process 1"));
  c.tell(temporary(2), join_as(Role::kWorker, "process 2"));
  for (const NodeId member : {server_node(0), worker_node(0)}) c.tell(member, heartbeat());
  c.scheduler->on_node_dead(c.now, "process 2", "was ended by signal 9", c.out);
  c.tell(worker_node(0), heartbeat());  // It was on its way.
  EXPECT_FALSE(c.scheduler->stopped().has_value());
  EXPECT_EQ(c.scheduler->missing(), "worker-0, worker-1");
  c.tell(temporary(3), join_as(Role::kWorker, "process 3"));
  c.tell(temporary(4), join_as(Role::kWorker, "process 4"));
  for (const NodeId member : {worker_node(1), worker_node(2)}) c.tell(member, heartbeat());
  EXPECT_TRUE(c.scheduler->started());
  EXPECT_EQ(c.map().shards, (std::vector<wire::ShardOwner>{{1, 0}, {2, 0}, {1, 0}, {2, 0}}));
}

// The late one's index is a new one, as what the lost one had said may still come.
TEST(Scheduler, AnotherTakesThePlaceOfAServerThatIsLostBeforeTheJobBegan) {
  using namespace std::chrono_literals;
  for (const bool named : {true, false}) {
    for (const bool silent : {true, false}) {
      Cluster c(false);
      c.tell(temporary(1), join(Role::kServer));
      if (named) c.tell(server_node(0), heartbeat());
      while (silent && c.now < Instant{} + 30s) c.scheduler->on_time(c.now = c.now + 1s, c.out);
      if (!silent) c.scheduler->on_peer_lost(c.now, named ? server_node(0) : temporary(1), c.out);
      EXPECT_FALSE(c.scheduler->stopped().has_value());
      const std::string said =
          "server-0 (127.0.0.1:1) closed its connection before the job began; another may take its place";
      EXPECT_EQ(c.events, silent ? std::vector<std::string>() : std::vector<std::string>{said});
      EXPECT_EQ(c.name(temporary(2), join(Role::kServer)), server_node(1));
      c.tell(temporary(3), join(Role::kWorker));
      c.tell(temporary(4), join(Role::kWorker));
      for (const NodeId member : {server_node(1), worker_node(0), worker_node(1)})
        c.tell(member, heartbeat());
      ASSERT_TRUE(c.scheduler->started());
      const wire::Map map = c.map();
      EXPECT_EQ(map.servers.size(), 2u);
      EXPECT_EQ(map.first_servers(), 1u);
      EXPECT_EQ(map.placement[0].owned_by(1), RangeSet(0, 256));
      const auto answers = c.tell(server_node(0), heartbeat());
      EXPECT_EQ(status_of(answers.at(0).second).code(), Code::kPeerLost);
      EXPECT_EQ(c.name(temporary(5), join(Role::kServer)), server_node(2)) << "that comes late";
      c.tell(server_node(2), heartbeat());
      EXPECT_EQ(c.map().servers.size(), 3u);
    }
  }
}

TEST(Scheduler, AServerThatComesBackBeforeTheJobBeginsHasItsPlaceUnlessAnotherTookIt) {
  for (const bool taken : {false, true}) {
    Cluster c(false);
    c.tell(temporary(1), join(Role::kServer));
    c.scheduler->on_peer_lost(c.now, temporary(1), c.out);
    EXPECT_EQ(c.scheduler->missing(), "server-0, worker-0, worker-1");
    if (taken) c.tell(temporary(2), join(Role::kServer));
    const auto answers = c.tell(server_node(0), heartbeat());
    EXPECT_EQ(answers.at(0).second.head.op, taken ? Op::kStop : Op::kHeartbeat);
    EXPECT_EQ(c.scheduler->missing(), taken ? "server-0, worker-0, worker-1" : "worker-0, worker-1");
    const auto third = c.tell(temporary(3), join(Role::kServer));
    EXPECT_EQ(third.at(0).second.head.op, Op::kStop) << "all seats are held";
  }
}

Frame ended_with(Code code, std::string_view why) {
  Frame frame = make_frame(Op::kEnded, Bytes::of(std::string(why)));
  frame.head.code = code;
  return frame;
}

// It is told why as often as it asks, and others have its shards.
TEST(Scheduler, ALateWorkerWhoseInputIsNoGoodIsTurnedAway) {
  Cluster c;
  c.tell(temporary(9), join(Role::kWorker));
  c.tell(worker_node(2), heartbeat());
  const auto own = [&] {
    return std::ranges::count(c.scheduler->map().shards, 2u, &wire::ShardOwner::worker);
  };
  EXPECT_EQ(own(), 1);
  const Status why(Code::kData, "nofile.svm: cannot be opened");
  c.tell(worker_node(2), ended_with(why.code(), why.message()));
  EXPECT_FALSE(c.scheduler->stopped().has_value());
  EXPECT_EQ(own(), 0);
  EXPECT_EQ(
      c.events.back(),
      "worker-2 (test) is turned away: nofile.svm: cannot be opened; its 1 data shard goes to worker-0");
  for (const Frame& again : {heartbeat(), ended_with(why.code(), why.message())}) {
    const auto answers = c.tell(worker_node(2), again);
    ASSERT_EQ(answers.size(), 1u);
    EXPECT_EQ(answers[0].second.head.op, Op::kStop);
    EXPECT_EQ(status_of(answers[0].second), why);
  }
}

TEST(Scheduler, OtherErrorsOfWorkersEndTheJob) {
  const auto end = [](Cluster& c, std::uint32_t worker, Code code) {
    c.tell(worker_node(worker), ended_with(code, "why"));
    return c.scheduler->stopped().value_or(ok_status()).code();
  };
  Cluster first;
  EXPECT_EQ(end(first, 0, Code::kData), Code::kData) << "it was there when the job began";
  Cluster other;
  other.tell(temporary(9), join(Role::kWorker));
  other.tell(worker_node(2), heartbeat());
  EXPECT_EQ(end(other, 2, Code::kTimeout), Code::kTimeout) << "which is others' as well";
  Cluster proven;
  proven.tell(temporary(9), join(Role::kWorker));
  proven.tell(worker_node(2), heartbeat());
  Frame report = make_frame(Op::kReport, Bytes::of(std::string("r")));
  for (std::uint32_t s = 0; s < 4; ++s) {
    if (proven.scheduler->map().shards[s].worker == 2) report.head.shard = ShardId{s};
  }
  report.head.owner_epoch = 1;
  proven.tell(worker_node(2), report);
  EXPECT_EQ(proven.reports.size(), 1u);
  EXPECT_EQ(end(proven, 2, Code::kData), Code::kData) << "it has done part of the work";
  Cluster last;
  last.tell(temporary(9), join(Role::kWorker));
  last.tell(worker_node(2), heartbeat());
  for (const std::uint32_t worker : {0u, 1u})
    last.scheduler->on_peer_lost(last.now, worker_node(worker), last.out);
  EXPECT_EQ(end(last, 2, Code::kData), Code::kData) << "nobody else is left";
}

TEST(Scheduler, WhoeverTakesTheJobUpTurnsAwayToo) {
  StoreInMemory store;
  const Status why(Code::kData, "the file is another one");
  {
    KeptJob first(store);
    first.begin();
    first.tell(temporary(9), join(Role::kWorker));
    first.tell(worker_node(2), heartbeat());
    first.keep();
  }
  {
    KeptJob second(store);
    ASSERT_TRUE(second.restored.ok()) << second.restored.message();
    second.hear_all({1, 1});
    second.beat(worker_node(2), {1, 1});
    second.tell(worker_node(2), ended_with(why.code(), why.message()));
    EXPECT_FALSE(second.scheduler->stopped().has_value());
    EXPECT_TRUE(second.scheduler->lost(worker_node(2)));
    second.keep();
    ASSERT_TRUE(second.kept->settled());
  }
  KeptJob third(store);
  third.hear_all({1, 1});
  const auto answers = third.tell(worker_node(2), ended_with(why.code(), why.message()));
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(status_of(answers[0].second), why);
}

TEST(Scheduler, MapsSayWhichDataIsRead) {
  std::uint64_t data = 0;
  SchedulerOptions options;
  options.data = [&] { return data; };
  options.tables.resize(1);
  Scheduler scheduler(std::move(options));
  SentFrames out;
  scheduler.on_frame({}, temporary(1), join(Role::kServer), out);
  scheduler.on_frame({}, temporary(2), join(Role::kWorker), out);
  for (const NodeId node : {server_node(0), worker_node(0)}) scheduler.on_frame({}, node, heartbeat(), out);
  EXPECT_EQ(scheduler.map().data, 0u);
  data = 7;
  scheduler.on_frame({}, temporary(3), join(Role::kServer), out);
  scheduler.on_frame({}, server_node(1), heartbeat(), out);
  EXPECT_EQ(scheduler.map().data, 7u);
  EXPECT_EQ(wire::decode_map(encode(scheduler.map()))->data, 7u);
}

}  // namespace
}  // namespace thalweg
