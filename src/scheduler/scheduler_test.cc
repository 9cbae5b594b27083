#include "scheduler/scheduler.h"

#include <gtest/gtest.h>

#include "scheduler/members_for_test.h"

namespace thalweg {
namespace {

using namespace std::chrono_literals;

Frame of_shard(Op op, std::uint32_t shard, std::uint32_t number, std::uint32_t owner_epoch = 0) {
  Frame frame = make_frame(op, op == Op::kReport ? Bytes::of(std::string_view("r")) : Bytes());
  frame.head.shard = ShardId{shard};
  frame.head.step = {0, number};
  frame.head.owner_epoch = owner_epoch;
  return frame;
}

TEST(Scheduler, GivesALostWorkersShardsToTheOthers) {
  Cluster c;
  c.tell(temporary(9), join(Role::kWorker));
  c.scheduler->on_peer_lost(c.now, worker_node(0), c.out);
  const wire::Map map = c.map();
  EXPECT_EQ(map.epoch, 2u);
  EXPECT_EQ(map.shards, (std::vector<wire::ShardOwner>{{2, 1}, {1, 0}, {2, 1}, {1, 0}}));
  c.scheduler->on_peer_lost(c.now, worker_node(0), c.out);
  EXPECT_EQ(c.map().epoch, 2u);
  c.scheduler->on_peer_lost(c.now, worker_node(2), c.out);
  EXPECT_EQ(c.events, (std::vector<std::string>{
                          "worker-0 (test) closed its connection; its 2 data shards go to worker-2",
                          "worker-2 (test) closed its connection; its 2 data shards go to worker-1"}));
}

TEST(Scheduler, SaysOfALostWorkerThatItHadNothingToDo) {
  Cluster c;
  c.tell(temporary(9), join(Role::kWorker));
  c.scheduler->on_peer_lost(c.now, worker_node(2), c.out);
  EXPECT_EQ(c.events.back(), "worker-2 (test) closed its connection; it had no data shards");
}

// All but the last barrier let go of whoever waits, at once, and hold nobody from then on.
TEST(Scheduler, AskedToEndItOpensBarriers) {
  Cluster c;
  Frame last = of_shard(Op::kBarrier, 0, 0);
  last.head.step = {~0u, 0};
  c.tell(worker_node(0), of_shard(Op::kBarrier, 0, 5));
  c.tell(worker_node(1), of_shard(Op::kBarrier, 1, 5));
  c.tell(worker_node(0), last);
  c.scheduler->close(c.out);
  std::vector<NodeId> let_go;
  for (const auto& [to, frame] : c.out.take()) {
    if (frame.head.op == Op::kBarrierReply) let_go.push_back(to);
    if (frame.head.op != Op::kMap) continue;
    EXPECT_TRUE(wire::decode_map(frame.first)->closing);
  }
  EXPECT_EQ(let_go, (std::vector<NodeId>{worker_node(0), worker_node(1)}));
  EXPECT_EQ(c.tell(worker_node(0), of_shard(Op::kBarrier, 2, 7)).at(0).second.head.op, Op::kBarrierReply);
  EXPECT_EQ(c.tell(worker_node(0), last).at(0).second.head.op, Op::kWaiting);
}

TEST(Scheduler, EndsTheJobWhenAServerOrTheLastWorkerIsLost) {
  Cluster server;
  server.scheduler->on_peer_lost(server.now, server_node(0), server.out);
  ASSERT_TRUE(server.scheduler->stopped().has_value());
  EXPECT_EQ(server.scheduler->stopped()->code(), Code::kPeerLost);
  EXPECT_NE(server.scheduler->stopped()->message().find("t [0,256) of 256"), std::string::npos);
  Cluster workers;
  while (workers.now < Instant{} + 11s) {  // The workers say nothing.
    workers.now = std::max(workers.now + 1ms, workers.scheduler->next_deadline());
    workers.tell(server_node(0), heartbeat());
    workers.scheduler->on_time(workers.now, workers.out);
  }
  ASSERT_TRUE(workers.scheduler->stopped().has_value());
  EXPECT_NE(workers.scheduler->stopped()->message().find("no worker is left"), std::string::npos);
}

TEST(Scheduler, NamesTheKeyRangesThatALostServerHad) {
  const std::vector<std::string> had = {"bias [0,1) of 1, weights [0,1) of 2", "weights [1,2) of 2", ""};
  for (std::uint32_t victim = 0; victim < 3; ++victim) {
    SchedulerOptions options;
    options.servers = 3;
    options.tables.resize(2);
    options.tables[0].name = "bias";
    options.tables[0].ranges = 1;
    options.tables[1].name = "weights";
    options.tables[1].ranges = 2;
    Scheduler scheduler(std::move(options));
    SentFrames out;
    ASSERT_NO_FATAL_FAILURE(begin_with_three_servers(scheduler, out));
    scheduler.on_peer_lost({}, server_node(victim), out);
    if (had[victim].empty()) {
      EXPECT_FALSE(scheduler.stopped().has_value()) << "nothing is lost with it";
      continue;
    }
    ASSERT_TRUE(scheduler.stopped().has_value());
    EXPECT_EQ(scheduler.stopped()->message(),
              node_name(server_node(victim)) +
                  " (127.0.0.1:1) closed its connection; lost key ranges: " + had[victim]);
  }
}

TEST(Scheduler, OtherServersOfItsChainsGoOnForALostOne) {
  SchedulerOptions options;
  options.servers = 3;
  options.replicas = 2;
  options.tables.resize(1);
  options.tables[0].name = "weights";
  options.tables[0].ranges = 12;
  std::vector<std::string> events;
  options.on_event = [&](const std::string& event) { events.push_back(event); };
  Scheduler scheduler(std::move(options));
  SentFrames out;
  ASSERT_NO_FATAL_FAILURE(begin_with_three_servers(scheduler, out));
  scheduler.on_peer_lost({}, server_node(1), out);
  ASSERT_FALSE(scheduler.stopped().has_value());
  EXPECT_EQ(scheduler.map().epoch, 2u);
  EXPECT_EQ(scheduler.map().placement[0].owned_by(0), RangeSet(0, 4) + RangeSet(6, 8));
  EXPECT_EQ(scheduler.map().placement[0].owned_by(2), RangeSet(4, 6) + RangeSet(8, 12));
  EXPECT_FALSE(scheduler.map().placement[0].places(1));
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0],
            "server-1 (127.0.0.1:1) closed its connection; its 4 key ranges go on at server-0, server-2");
  // It is told that others have its place, while the job goes on.
  scheduler.on_frame({}, server_node(1), heartbeat(), out);
  const Status told = status_of(out.take(Op::kStop).at(0).second);
  EXPECT_EQ(told.code(), Code::kPeerLost);
  EXPECT_TRUE(told.message().starts_with("server-1 was silent too long and has been replaced"))
      << told.message();
  scheduler.on_peer_lost({}, server_node(2), out);
  ASSERT_TRUE(scheduler.stopped().has_value());
  EXPECT_NE(scheduler.stopped()->message().find("lost key ranges: weights [4,6) [10,12) of 12"),
            std::string::npos)
      << scheduler.stopped()->message();
}

TEST(Scheduler, APauseOfItsOwnIsNobodysSilence) {
  Cluster c;
  c.scheduler->on_time(c.now, c.out);
  c.now = c.now + 1h;
  c.scheduler->on_time(c.now, c.out);
  EXPECT_FALSE(c.scheduler->stopped().has_value());
  EXPECT_EQ(c.map().epoch, 1u);
  c.tell(server_node(0), heartbeat());
  for (int second = 0; second < 12; ++second) c.scheduler->on_time(c.now = c.now + 1s, c.out);
  ASSERT_TRUE(c.scheduler->stopped().has_value());  // Who is silent afterwards is lost.
}

TEST(Scheduler, TheLoadedBarrierOpensWhenAnObserverComes) {
  const auto come = [](Cluster& c, std::uint32_t worker, ShardId shard) {
    Frame frame = of_shard(Op::kBarrier, shard.value, 0);
    frame.head.step = in_place_of_step(kLoadedBarrier);
    return c.tell(worker_node(worker), frame);
  };
  Cluster c;
  for (std::uint32_t shard = 0; shard < 4; ++shard) {
    const auto answers = come(c, shard % 2, ShardId{shard});
    ASSERT_EQ(answers.size(), 1u);
    EXPECT_EQ(answers[0].second.head.op, Op::kWaiting);
  }
  c.scheduler->close(c.out);
  for (const auto& [to, frame] : c.out.take()) EXPECT_NE(frame.head.op, Op::kBarrierReply);
  EXPECT_EQ(come(c, 0, kNoShard).size(), 5u) << "it and all who wait";
  EXPECT_EQ(come(c, 0, ShardId{0}).at(0).second.head.op, Op::kBarrierReply) << "and whoever comes later";
}

TEST(Scheduler, ABarrierOpensOnceForEachShardHoweverOftenItAsks) {
  Cluster c;
  for (int repeat = 0; repeat < 3; ++repeat) {
    for (std::uint32_t shard = 0; shard < 3; ++shard) {
      const auto answers = c.tell(worker_node(shard % 2), of_shard(Op::kBarrier, shard, 5));
      ASSERT_EQ(answers.size(), 1u);
      EXPECT_EQ(answers[0].second.head.op, Op::kWaiting);
    }
  }
  auto answers = c.tell(worker_node(1), of_shard(Op::kBarrier, 3, 5));
  EXPECT_EQ(answers.size(), 4u);
  for (const auto& [to, frame] : answers) {
    EXPECT_EQ(frame.head.op, Op::kBarrierReply);
    EXPECT_EQ(frame.head.code, Code::kOk);
  }
  answers = c.tell(worker_node(0), of_shard(Op::kBarrier, 0, 5));
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].second.head.op, Op::kBarrierReply);
}

TEST(Scheduler, HearsAShardsPresentOwnerAlone) {
  Cluster c;
  for (const Op op : {Op::kBarrier, Op::kReport}) {
    for (const auto& [from, frame] :
         std::vector<std::pair<NodeId, Frame>>{{worker_node(1), of_shard(op, 0, 1)},      // Another's shard.
                                               {server_node(0), of_shard(op, 0, 1)},      // No worker.
                                               {worker_node(0), of_shard(op, 0, 1, 1)},   // An owner to come.
                                               {worker_node(0), of_shard(op, 77, 1)}}) {  // No shard.
      for (const std::uint32_t epoch : {0u, 1u}) {  // Its sender may have yet to learn what it owns.
        Frame sent = frame;
        sent.head.map_epoch = epoch;
        const auto answers = c.tell(from, sent);
        ASSERT_EQ(answers.size(), 1u);
        EXPECT_EQ(answers[0].second.head.code,
                  epoch < c.scheduler->map().epoch ? Code::kStale : Code::kAborted);
      }
    }
  }
  EXPECT_TRUE(c.reports.empty());
}

TEST(Scheduler, PassesEachReportOnOnce) {
  Cluster c;
  for (const std::uint32_t number : {1u, 1u, 2u, 1u, 2u}) {
    const auto answers = c.tell(worker_node(0), of_shard(Op::kReport, 2, number));
    ASSERT_EQ(answers.size(), 1u);
    EXPECT_EQ(answers[0].second.head.code, Code::kOk);
  }
  EXPECT_EQ(c.reports, (std::vector<std::string>{"2.1 r", "2.2 r"}));
}

TEST(Scheduler, StrangersAreNotHeard) {
  Cluster c;
  for (const NodeId from : {temporary(1), worker_node(9), server_node(3), kScheduler}) {
    for (const Op op :
         {Op::kEnded, Op::kStop, Op::kBarrier, Op::kReport, Op::kGetMap, Op::kHeartbeat, Op::kMap}) {
      Frame frame = of_shard(op, 0, 1);
      frame.head.code = Code::kAborted;
      EXPECT_TRUE(c.tell(from, frame).empty()) << op_name(op);
    }
  }
  EXPECT_FALSE(c.scheduler->stopped().has_value());
}

TEST(Scheduler, OnlyItsOwnObserverEndsTheJobWell) {
  Cluster c;
  // The observer's own process may not take a server's place either.
  for (const auto& [from, role] : {std::pair(temporary(9), Role::kWorker), {temporary(100), Role::kServer}}) {
    const auto answers = c.tell(from, join(role, true));
    ASSERT_EQ(answers.size(), 1u);
    EXPECT_EQ(answers[0].second.head.op, Op::kStop);
    EXPECT_EQ(answers[0].second.head.code, Code::kRefused);
  }
  const Frame ended = make_frame(Op::kEnded);
  for (const NodeId from :
       {temporary(9), worker_node(wire::kFirstObserver), worker_node(0), server_node(0)}) {
    c.tell(from, ended);
    EXPECT_FALSE(c.scheduler->stopped().has_value()) << node_name(from);
  }
  const NodeId own = c.name(temporary(100), join(Role::kWorker, true));
  EXPECT_EQ(own, worker_node(wire::kFirstObserver));
  c.scheduler->on_peer_lost(c.now, temporary(9), c.out);
  c.tell(own, ended);
  EXPECT_EQ(c.scheduler->stopped(), ok_status());
}

TEST(Scheduler, CutsTheTextThatEndsAJob) {
  Cluster c;
  Frame ended = make_frame(Op::kEnded, Bytes::of(std::string(1 << 20, 'x')));
  ended.head.code = Code::kData;
  c.tell(worker_node(0), ended);
  ASSERT_TRUE(c.scheduler->stopped().has_value());
  EXPECT_EQ(c.scheduler->stopped()->code(), Code::kData);
  EXPECT_LE(c.scheduler->stopped()->message().size(), limits::kTextOfStatusMax + 32);
}

TEST(Scheduler, WhoHasNotHeardOfTheEndIsToldAgain) {
  Cluster c;
  c.scheduler->stop(c.now, {Code::kTimeout, "too late"}, c.out);
  EXPECT_EQ(c.out.take().size(), 2u);
  for (int i = 0; i < 2; ++i) {
    const auto answers = c.tell(worker_node(0), heartbeat());
    ASSERT_EQ(answers.size(), 1u);
    EXPECT_EQ(answers[0].second.head.op, Op::kStop);
    EXPECT_EQ(status_of(answers[0].second), Status(Code::kTimeout, "too late"));
  }
  c.tell(worker_node(0), make_frame(Op::kStop));
  EXPECT_TRUE(c.tell(worker_node(0), heartbeat()).empty());
}

// A worker that outlived its servers would take them for lost.
TEST(Scheduler, ServersAreToldToStopAfterTheWorkers) {
  for (const bool one_is_stopped : {false, true}) {
    Cluster c;
    const auto told_to_stop = [&] {
      std::vector<NodeId> told;
      for (const auto& [to, frame] : c.out.take(Op::kStop)) told.push_back(to);
      return told;
    };
    c.scheduler->stop(c.now, ok_status(), c.out);
    EXPECT_EQ(told_to_stop(), (std::vector<NodeId>{worker_node(0), worker_node(1)}));
    EXPECT_TRUE(c.tell(server_node(0), heartbeat()).empty());
    c.tell(worker_node(0), make_frame(Op::kStop));
    c.scheduler->on_time(c.now, c.out);
    EXPECT_TRUE(told_to_stop().empty());
    if (!one_is_stopped) c.tell(worker_node(1), make_frame(Op::kStop));
    for (const Instant end = c.now + 2s; one_is_stopped && c.now < end;) {
      c.now = std::max(c.now + 1ms, c.scheduler->next_deadline());
      c.scheduler->on_time(c.now, c.out);
    }
    c.scheduler->on_time(c.now, c.out);
    EXPECT_EQ(told_to_stop(), std::vector<NodeId>{server_node(0)});
    ASSERT_EQ(c.tell(server_node(0), heartbeat()).size(), 1u);  // It has not answered yet.
  }
}

TEST(Scheduler, WhoFallsSilentBeforeTheJobBeginsMayComeBack) {
  Cluster c(false);
  c.tell(temporary(1), join(Role::kServer));
  c.tell(temporary(2), join(Role::kWorker));
  for (const NodeId member : {server_node(0), worker_node(0)}) c.tell(member, heartbeat());
  EXPECT_EQ(c.scheduler->missing(), "worker-1");
  while (c.now < Instant{} + 30s) c.scheduler->on_time(c.now = c.now + 1s, c.out);
  EXPECT_FALSE(c.scheduler->stopped().has_value());
  EXPECT_EQ(c.scheduler->missing(), "server-0, worker-0, worker-1");
  c.tell(temporary(3), join(Role::kWorker));
  for (const NodeId member : {worker_node(1), worker_node(0), server_node(0)}) c.tell(member, heartbeat());
  EXPECT_TRUE(c.scheduler->started());
}

// Its place cannot be taken, so waiting for it would have no end.
TEST(Scheduler, WaitsForAnObserverThatFellSilentBeforeTheJobBegins) {
  Cluster c(false);
  const NodeId observer = c.name(temporary(100), join(Role::kWorker, true));
  for (std::uint32_t n = 1; n <= 3; ++n) c.tell(temporary(n), join(n == 1 ? Role::kServer : Role::kWorker));
  c.tell(observer, heartbeat());
  while (c.now < Instant{} + 30s) c.scheduler->on_time(c.now = c.now + 1s, c.out);
  for (const NodeId member : {server_node(0), worker_node(0), worker_node(1)}) c.tell(member, heartbeat());
  EXPECT_EQ(c.scheduler->missing(), "the observer");
  c.tell(observer, heartbeat());
  EXPECT_TRUE(c.scheduler->started());
}

TEST(Scheduler, ALostServerThatComesBackIsToldWhyTheJobEnded) {
  Cluster c;
  c.scheduler->on_peer_lost(c.now, server_node(0), c.out);
  c.out.take();
  const auto answers = c.tell(server_node(0), heartbeat());
  EXPECT_EQ(answers.at(0).second.first.text(), c.scheduler->stopped()->message());
}

TEST(Scheduler, IsFinishedWhenAllHaveSeenTheStop) {
  Cluster c;
  c.scheduler->stop(c.now, ok_status(), c.out);
  c.scheduler->on_time(c.now, c.out);
  EXPECT_FALSE(c.scheduler->finished());
  for (const NodeId node : {worker_node(0), worker_node(1), server_node(0)}) {
    EXPECT_FALSE(c.scheduler->finished());
    c.tell(node, make_frame(Op::kStop));
  }
  c.scheduler->on_time(c.now, c.out);
  EXPECT_TRUE(c.scheduler->finished());
}

TEST(Scheduler, AServerThatFailedIsNotWaitedFor) {
  Cluster c;
  Frame ended = make_frame(Op::kEnded, Bytes::of(std::string_view("no memory")));
  ended.head.code = Code::kIo;
  c.tell(server_node(0), ended);
  EXPECT_EQ(c.scheduler->stopped(), Status(Code::kIo, "server-0: no memory"));
  for (const NodeId node : {worker_node(0), worker_node(1)}) c.tell(node, make_frame(Op::kStop));
  c.scheduler->on_time(c.now, c.out);
  EXPECT_TRUE(c.scheduler->finished());
}

TEST(Scheduler, NeighboursWhoCombineGetNeighbouringShards) {
  const auto map_of = [](Combining combine, Consistency consistency) {
    SchedulerOptions options;
    options.workers = 4;
    options.shards = 8;
    options.combine = combine;
    options.consistency = consistency;
    options.tables.resize(1);
    Scheduler scheduler(std::move(options));
    SentFrames out;
    scheduler.on_frame({}, temporary(9), join(Role::kServer), out);
    for (std::uint32_t w = 0; w < 4; ++w) {
      const std::string machine = w % 2 == 0 ? "even" : "odd";
      const wire::Join message{Role::kWorker, false, "127.0.0.1:" + std::to_string(w + 1), "test", machine};
      scheduler.on_frame({}, temporary(w), make_frame(Op::kJoin, encode(message)), out);
    }
    scheduler.on_frame({}, server_node(0), heartbeat(), out);
    for (std::uint32_t w = 0; w < 4; ++w) scheduler.on_frame({}, worker_node(w), heartbeat(), out);
    out.take();
    scheduler.on_frame({}, worker_node(1), make_frame(Op::kGetMap), out);
    return *wire::decode_map(out.take(Op::kMap).at(0).second.first);
  };
  const auto owners = [](const wire::Map& map) {
    std::vector<std::uint32_t> out;
    for (const wire::ShardOwner& owner : map.shards) out.push_back(owner.worker);
    return out;
  };
  using Owners = std::vector<std::uint32_t>;
  const wire::Map machines = map_of(Combining::machine(), Consistency::sync());
  EXPECT_EQ(owners(machines), (Owners{0, 0, 2, 2, 1, 1, 3, 3}));
  ASSERT_EQ(machines.workers.size(), 4u);
  EXPECT_EQ(machines.workers[2], (wire::WorkerPlace{2, machines.workers[0].machine, "127.0.0.1:3"}));
  EXPECT_NE(machines.workers[1].machine, machines.workers[0].machine);
  EXPECT_EQ(owners(map_of(Combining::tree(2), Consistency::sync())), (Owners{0, 0, 1, 1, 3, 3, 2, 2}));
  const wire::Map single = map_of(Combining::none(), Consistency::sync());
  EXPECT_EQ(owners(single), (Owners{0, 1, 2, 3, 0, 1, 2, 3}));
  EXPECT_TRUE(single.workers.empty());
  for (const Consistency mode : {Consistency::async(), Consistency::backup(1)})
    EXPECT_EQ(map_of(Combining::machine(), mode).combine, Combining::none());
  EXPECT_EQ(map_of(Combining::tree(2), Consistency::softsync(1)).combine, Combining::tree(2));
}

}  // namespace
}  // namespace thalweg
