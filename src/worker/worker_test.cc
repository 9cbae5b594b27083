#include "worker/worker.h"

#include <gtest/gtest.h>

#include <functional>
#include <optional>

#include "node/sent_frames_for_test.h"

namespace thalweg {
namespace {

using namespace std::chrono_literals;
using Sent = std::vector<std::pair<NodeId, Frame>>;

wire::Map started_map(std::uint32_t epoch, Consistency consistency = Consistency::sync()) {
  wire::Map map;
  map.consistency = consistency;
  map.epoch = epoch;
  map.timeout = 10s;
  TableSpec table;
  table.name = "t";
  table.ranges = 4;
  map.tables = {table};
  map.servers = {""};
  map.placement = first_placement(map.tables, 1);
  map.shards = {{0, 0}};
  return map;
}

// Worker 0 of a job with one server and one shard, used from outside.
struct StartedWorker {
  explicit StartedWorker(Consistency consistency = Consistency::sync()) {
    tell(kScheduler, make_frame(Op::kWelcome, encode(wire::Welcome{worker_node(0), 7})));
    tell(kScheduler, make_frame(Op::kMap, encode(started_map(1, consistency))));
  }
  std::vector<std::pair<NodeId, Frame>> tell(NodeId from, Frame frame) {
    worker.on_frame(now, from, std::move(frame), out);
    return out.take();
  }
  void run(Duration time) {
    for (const Instant end = now + time; now < end;) {
      now = std::min(end, std::max(now + 1ms, worker.next_deadline()));
      worker.on_time(now, out);
    }
  }
  // The frame that asks for something, and what will be known of it.
  std::pair<Frame, std::shared_ptr<Completion>> ask(const std::function<Pending(ShardStore&)>& request) {
    std::shared_ptr<Completion> completion;
    worker.turn(now, out, [&] { completion = Completion::of(request(*worker.store(ShardId{0}))); });
    const auto sent = out.take();
    EXPECT_EQ(sent.size(), 1u);
    return {sent.at(0).second, completion};
  }
  auto pull() {
    return ask([](ShardStore& store) { return store.pull(TableId{0}, Keys::of(std::vector<Key>{1, 2})); });
  }
  auto scan() {
    return ask([](ShardStore& store) { return store.scan(TableId{0}, RangeId{1}); });
  }

  Instant now{};
  SentFrames out;
  Worker worker{WorkerOptions{}};
};

Frame answer(const Frame& asked, Op op, std::vector<float> rows, std::vector<std::uint64_t> keys = {}) {
  Frame frame;
  frame.head = asked.head;
  frame.head.op = op;
  frame.first = Bytes::of(std::move(keys));
  frame.second = Bytes::of(std::move(rows));
  return frame;
}

TEST(Worker, LeavesASchedulerThatAnswersNothingWithoutAWord) {
  StartedWorker job;
  const auto [asked, completion] = job.scan();
  job.run(12s);
  const Status why(Code::kPeerLost, "scheduler has answered nothing for 10 s");
  EXPECT_EQ(job.worker.membership().stopped(), why);
  EXPECT_TRUE(completion->done);
  EXPECT_TRUE(job.out.take(Op::kEnded).empty());
}

TEST(Worker, TakesOrdersFromTheSchedulerAlone) {
  StartedWorker job;
  for (const NodeId from : {server_node(0), worker_node(1)}) {
    job.tell(from, make_frame(Op::kStop));
    job.tell(from, make_frame(Op::kMap, encode(started_map(5))));
  }
  EXPECT_FALSE(job.worker.finished());
  EXPECT_EQ(job.worker.map().epoch, 1u);
}

TEST(Worker, TakesAnAnswerOnlyFromWhomItAskedAndOfTheRightKind) {
  StartedWorker job;
  const auto [asked, completion] = job.pull();
  job.tell(server_node(1), answer(asked, Op::kPullReply, {1, 2}));
  job.tell(server_node(0), answer(asked, Op::kPushReply, {1, 2}));
  job.tell(server_node(0), answer(asked, Op::kScanReply, {1, 2}));
  EXPECT_FALSE(completion->done);
  job.tell(server_node(0), answer(asked, Op::kPullReply, {1, 2}));
  ASSERT_TRUE(completion->done);
  EXPECT_TRUE(completion->answer.status.ok());
  EXPECT_EQ(completion->answer.rows[1], 2.0f);
  EXPECT_EQ(job.worker.requests_open(), 0u);
}

// By the old one it would read from who was the owner, and has yet to learn that it is not.
TEST(Worker, PassesABarrierOnceItHasTheMapUnderWhichThatOpened) {
  StartedWorker job;
  auto [asked, completion] = job.ask([](ShardStore& store) { return store.barrier({0, 0}); });
  ASSERT_EQ(asked.head.op, Op::kBarrier);
  Frame opened = answer(asked, Op::kBarrierReply, {});
  opened.head.map_epoch = 2;
  const Sent sent = job.tell(kScheduler, opened);
  EXPECT_FALSE(completion->done);
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].second.head.op, Op::kGetMap);
  job.tell(kScheduler, make_frame(Op::kMap, encode(started_map(2))));
  job.run(100ms);
  EXPECT_EQ(job.out.take(Op::kBarrier).size(), 1u);
  job.tell(kScheduler, opened);
  EXPECT_TRUE(completion->done);
  EXPECT_TRUE(completion->answer.status.ok());
}

TEST(Worker, LoadsRowsOfARange) {
  StartedWorker job;
  const auto [asked, completion] = job.ask([](ShardStore& store) {
    return store.load(TableId{0}, RangeId{2}, {range_first_key(2, 4)}, Rows(std::vector<float>{5}));
  });
  EXPECT_EQ(asked.head.op, Op::kLoad);
  EXPECT_EQ(asked.head.ranges, (RangeSpan{2, 3}));
  EXPECT_EQ(asked.keys()[0], range_first_key(2, 4));
  EXPECT_EQ(asked.values()[0], 5.0f);
  job.tell(server_node(0), answer(asked, Op::kLoadReply, {}));
  ASSERT_TRUE(completion->done);
  EXPECT_TRUE(completion->answer.status.ok());
}

TEST(Worker, AnAnswerOfTheWrongSizeFailsTheRequest) {
  StartedWorker job;
  const auto [asked, completion] = job.pull();
  job.tell(server_node(0), answer(asked, Op::kPullReply, {1, 2, 3}));
  ASSERT_TRUE(completion->done);
  EXPECT_EQ(completion->answer.status.code(), Code::kRefused);
}

TEST(Worker, APushSaysOnWhichVersionItWasComputedWhereItsPullDidNotWait) {
  for (const Consistency mode : {Consistency::free_softsync(1), Consistency::softsync(1)}) {
    const bool says = mode.kind == Consistency::Kind::kFreeSoftsync;
    StartedWorker job(mode);
    const auto version_of_push = [&] {
      return job
          .ask([](ShardStore& store) {
            return store.push(TableId{0}, Keys::of(std::vector<Key>{1}), Rows(std::vector<float>{1}));
          })
          .first.head.version;
    };
    for (const std::uint32_t version : {7u, 6u, 9u}) {
      Frame rows = answer(job.pull().first, Op::kPullReply, {1, 2});
      rows.head.version = version;
      job.tell(server_node(0), rows);
    }
    EXPECT_EQ(version_of_push(), says ? 6u : 0u) << "the oldest";
    job.worker.turn(job.now, job.out, [&] { job.worker.store(ShardId{0})->advance().forget(); });
    job.out.take();
    EXPECT_EQ(version_of_push(), 0u) << "it has read nothing since";
  }
}

TEST(Worker, OnlyWhomItAskedMayPutOffADeadline) {
  StartedWorker job;
  const auto [asked, completion] = job.pull();
  Frame waiting = answer(asked, Op::kWaiting, {});
  waiting.first = encode(wire::Waiting{9, {}});
  job.run(9s);
  job.tell(server_node(1), waiting);
  job.run(2s);
  ASSERT_TRUE(completion->done);
  EXPECT_EQ(completion->answer.status.code(), Code::kTimeout);
}

TEST(Worker, APauseOfItsOwnCountsInNoDeadline) {
  StartedWorker job;
  const auto [asked, completion] = job.pull();
  job.run(2s);
  job.now = job.now + 1h;
  job.run(7s);
  EXPECT_FALSE(completion->done);
  job.run(2s);
  ASSERT_TRUE(completion->done);
  EXPECT_EQ(completion->answer.status.code(), Code::kTimeout);
}

// A server without the map yet, say: asked again in milliseconds, then at doubling intervals, not as after a
// loss.
TEST(Worker, AsksAgainSoonWhomItFoundNotReady) {
  StartedWorker job;
  const auto [asked, completion] = job.pull();
  Duration waited{};
  for (Duration wait = limits::kRefusalWaitFirst; wait < limits::kRetryFirst; wait *= 2) {
    Frame refusal = answer(asked, Op::kPullReply, {});
    refusal.head.code = Code::kRetry;
    job.tell(server_node(0), refusal);
    job.worker.on_time(job.now + (wait - 1ns), job.out);
    EXPECT_TRUE(job.out.take(Op::kPull).empty());
    job.now = job.now + wait;
    EXPECT_LE(job.worker.next_deadline(), job.now);
    job.worker.on_time(job.now, job.out);
    EXPECT_EQ(job.out.take(Op::kPull).size(), 1u);
    waited += wait;
  }
  EXPECT_GT(waited, limits::kRetryFirst / 2);
  job.tell(server_node(0), answer(asked, Op::kPullReply, {1, 2}));
  EXPECT_TRUE(completion->done);
}

TEST(Worker, AScansBlocksMustFitTogether) {
  struct Case {
    Step block;
    std::vector<std::uint64_t> keys;
    std::vector<float> rows;
  };
  for (const Case& bad :
       {Case{{0, ~0u}, {1}, {1}}, Case{{2, 2}, {1}, {1}}, Case{{0, 0}, {1}, {1}}, Case{{0, 1}, {1, 2}, {1}},
        Case{{0, 1}, {1}, {}}, Case{{0, 2}, {}, {}}, Case{{0, 1}, {}, {1}}}) {
    StartedWorker job;
    const auto [asked, completion] = job.scan();
    Frame frame = answer(asked, Op::kScanReply, bad.rows, bad.keys);
    frame.head.step = bad.block;
    job.tell(server_node(0), frame);
    ASSERT_TRUE(completion->done);
    EXPECT_EQ(completion->answer.status.code(), Code::kRefused);
  }
}

TEST(Worker, GathersAScanInOrderHoweverItsBlocksCome) {
  StartedWorker job;
  const auto [asked, completion] = job.scan();
  for (const std::uint32_t block : {2u, 0u, 2u, 1u}) {
    EXPECT_FALSE(completion->done);
    const float value = static_cast<float>(block);
    Frame frame = answer(asked, Op::kScanReply, {value, value}, {block});
    frame.head.step = {block, 3};
    job.tell(server_node(0), frame);
  }
  ASSERT_TRUE(completion->done);
  EXPECT_EQ(completion->answer.keys, (std::vector<std::uint64_t>{0, 1, 2}));
  EXPECT_EQ(completion->answer.rows.size(), 6u);
}

TEST(Worker, AStopEndsWhatIsOpen) {
  StartedWorker job;
  const auto [asked, completion] = job.pull();
  job.tell(kScheduler, make_frame(Op::kStop));
  ASSERT_TRUE(completion->done);
  EXPECT_EQ(completion->answer.status.code(), Code::kAborted);
}

TEST(Worker, SaysHowManyBytesItHasSentAtTheEndToo) {
  StartedWorker job;
  const auto [asked, completion] = job.pull();
  const auto sent = job.tell(kScheduler, make_frame(Op::kStop));
  ASSERT_EQ(sent.size(), 2u);
  ASSERT_EQ(sent[0].second.head.op, Op::kHeartbeat);
  const auto beat = wire::decode_heartbeat(sent[0].second.first);
  ASSERT_TRUE(beat.has_value());
  EXPECT_EQ(beat->counters[CounterId::kSentBytes], asked.size_bytes());
}

// A map that comes after the end would begin the shard that it gives away once more.
TEST(Worker, AMapAfterTheStopBeginsNothing) {
  StartedWorker job;
  job.tell(kScheduler, make_frame(Op::kStop));
  wire::Map late = started_map(2);
  late.shards[0].owner_epoch = 1;
  EXPECT_TRUE(job.tell(kScheduler, make_frame(Op::kMap, encode(late))).empty());
  EXPECT_EQ(job.worker.requests_open(), 0u);
}

constexpr TableId kTable{0};

Keys one_key(Key key) { return Keys::of(std::vector<Key>{key}); }

// A program that pulls two keys, computes once it has the first one, and pushes.
struct Computing : StartedWorker {
  Computing() {
    worker.turn(now, out, [&] {
      worker.run(ShardId{0}, [this](ShardStore& store, const wire::Map&) { return program(store); });
    });
    resume();
    asked = out.take(Op::kPull);
    EXPECT_EQ(asked.size(), 2u);
    tell(server_node(0), answer(asked[0].second, Op::kPullReply, {1}));
    worker.on_time(now, out);
    work = worker.take_work();
    EXPECT_NE(work, nullptr);
  }
  Task<Status> program(ShardStore& store) {
    const auto own = std::make_shared<int>();
    held = own;
    Pending first = store.pull(kTable, one_key(1)), second = store.pull(kTable, one_key(2));
    if (Answer rows = co_await first; !rows.status.ok()) co_return rows.status;
    computed = true;
    store.exchanged(exchanged);
    store.push(kTable, one_key(1), Rows(std::vector<float>{1})).forget();
    const Answer rows = co_await second;
    seen = rows.status;
    co_return rows.status;
  }
  void resume() {
    worker.on_time(now, out);
    compute_at_once(worker, now, out);
  }
  Sent finish() {
    work->compute();
    worker.on_computed(now, out);
    return out.take();
  }

  Sent asked;
  Computation* work = nullptr;
  bool computed = false;
  std::weak_ptr<int> held;  // By the program, while there is one.
  Exchanged exchanged;      // By the program, while it computes.
  std::optional<Status> seen;
};

TEST(WorkerComputes, AndCountsTheTimeInWhichItsProgramsWait) {
  Computing job;  // Its program is about to go on, by the answer to its first pull.
  job.now = job.now + 2s;
  job.finish();  // It waits for the second one now.
  job.now = job.now + 5s;
  job.tell(server_node(0), answer(job.asked[1].second, Op::kPullReply, {2}));
  job.now = job.now + 7s;  // Nobody lets it go on.
  job.resume();
  const Counters counters = job.worker.counters();
  EXPECT_EQ(counters[CounterId::kShardTimeNs], 14'000'000'000u);
  EXPECT_EQ(counters[CounterId::kShardWaitNs], 5'000'000'000u);
}

TEST(WorkerComputes, AndCountsWhatProgramsExchangeThemselves) {
  for (const auto waited : {1s, 3s}) {
    Computing job;
    job.exchanged = {1000, waited};
    const std::uint64_t before = job.worker.counters()[CounterId::kSentBytes];
    job.now = job.now + 2s;
    const Sent pushed = job.finish();
    const Counters counters = job.worker.counters();
    EXPECT_EQ(counters[CounterId::kSentBytes], before + pushed[0].second.size_bytes() + 1000);
    EXPECT_EQ(counters[CounterId::kShardWaitNs], waited == 1s ? 1'000'000'000u : 2'000'000'000u);
  }
}

TEST(WorkerComputes, AndSpeaksAndIsAnsweredMeanwhile) {
  Computing job;
  job.now = job.now + 30s;
  EXPECT_LE(job.worker.next_deadline(), job.now);
  job.worker.on_time(job.now, job.out);
  EXPECT_EQ(job.out.take(Op::kHeartbeat).size(), 1u);
  EXPECT_GT(job.worker.next_deadline(), job.now) << "nothing else is due";
  EXPECT_EQ(job.worker.take_work(), nullptr) << "one thing at a time";
  job.tell(server_node(0), answer(job.asked[1].second, Op::kPullReply, {2}));
  EXPECT_EQ(job.worker.requests_open(), 0u);
  EXPECT_EQ(job.worker.store(ShardId{0}), nullptr);
  EXPECT_FALSE(job.computed);

  const Sent sent = job.finish();
  ASSERT_EQ(sent.size(), 1u) << "what it asked for leaves when it waits";
  EXPECT_EQ(sent[0].second.head.op, Op::kPush);
  EXPECT_FALSE(job.seen);
  job.resume();
  EXPECT_EQ(job.seen, ok_status()) << "by the answer that had come";
}

// What a program computes before its next pull, as when it reads its rows, others need not wait for.
TEST(WorkerComputes, AndItsStepsPushLeavesBeforeWhatTheNextOneComputes) {
  bool next = false;
  Worker worker(WorkerOptions{{}, [&next](ShardStore& store, const wire::Map&) -> Task<Status> {
                                store.push(kTable, one_key(1), Rows(std::vector<float>{1})).forget();
                                const Status advanced = (co_await store.advance()).status;
                                next = true;
                                co_return advanced;
                              }});
  SentFrames out;
  const auto turn = [&] {
    worker.on_time({}, out);
    compute_at_once(worker, {}, out);
  };
  worker.on_frame({}, kScheduler, make_frame(Op::kWelcome, encode(wire::Welcome{worker_node(0), 7})), out);
  worker.on_frame({}, kScheduler, make_frame(Op::kMap, encode(started_map(1))), out);
  turn();
  EXPECT_EQ(out.take(Op::kPush).size(), 1u);
  EXPECT_FALSE(next);
  EXPECT_EQ(worker.next_deadline(), Instant{}) << "it waits for nobody's answer";
  turn();
  EXPECT_TRUE(next);
}

TEST(WorkerComputes, AndIsStoppedAtOnce) {
  Computing job;
  const Sent sent = job.tell(kScheduler, make_frame(Op::kStop));
  ASSERT_EQ(sent.size(), 2u) << "its last numbers, and that it has heard";
  EXPECT_EQ(sent[1].second.head.op, Op::kStop);
  EXPECT_TRUE(job.worker.finished());
  EXPECT_FALSE(job.held.expired()) << "nobody touches a program that computes";
  EXPECT_TRUE(job.finish().empty()) << "nobody is told of what it asked for then";
  EXPECT_TRUE(job.held.expired()) << "it ends where it waits";
  job.worker.on_time(job.now, job.out);
  EXPECT_EQ(job.worker.take_work(), nullptr) << "nor does it go on";
  EXPECT_FALSE(job.seen);
}

TEST(WorkerComputes, AndIsStoppedWhereItWaits) {
  Computing job;
  job.finish();
  EXPECT_FALSE(job.held.expired());
  job.tell(kScheduler, make_frame(Op::kStop));
  EXPECT_TRUE(job.held.expired()) << "what it holds is for others to have";
  EXPECT_FALSE(job.seen);
}

TEST(WorkerComputes, AndItsShardIsGivenAwayAndComesBack) {
  Computing job;
  wire::Map away = started_map(2);
  away.shards[0] = {1, 1};
  job.tell(kScheduler, make_frame(Op::kMap, encode(away)));
  EXPECT_EQ(job.worker.requests_open(), 0u);
  wire::Map back = started_map(3);
  back.shards[0] = {0, 2};
  const Sent asked = job.tell(kScheduler, make_frame(Op::kMap, encode(back)));
  ASSERT_EQ(job.worker.requests_open(), 1u) << "for the marks";
  EXPECT_TRUE(job.finish().empty());
  job.resume();
  EXPECT_EQ(job.seen->code(), Code::kAborted);
  EXPECT_EQ(job.worker.requests_open(), 1u) << "the shard's new life is not the old one's";
  EXPECT_TRUE(job.out.take(Op::kEnded).empty()) << "nor is how it ended";
}

TEST(WorkerComputes, AndAPushThatFailsMeanwhileFailsTheShard) {
  Computing job;
  const Sent pushed = job.finish();
  ASSERT_EQ(pushed.size(), 1u);
  job.tell(server_node(0), answer(job.asked[1].second, Op::kPullReply, {2}));
  job.worker.on_time(job.now, job.out);
  job.work = job.worker.take_work();
  ASSERT_NE(job.work, nullptr);
  Frame refusal = answer(pushed[0].second, Op::kPushReply, {});
  refusal.head.code = Code::kRefused;
  job.tell(server_node(0), refusal);
  const Sent sent = job.finish();
  EXPECT_EQ(job.seen, ok_status()) << "its program has ended well, as far as it knew";
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].second.head.op, Op::kEnded);
  EXPECT_EQ(status_of(sent[0].second).code(), Code::kRefused);
}

// It asks for nothing that could fail.
TEST(WorkerComputes, AndAProgramThatOnlyLetsOthersGoFirstLearnsThatItsShardIsGivenAway) {
  std::optional<Status> seen;
  Worker worker(WorkerOptions{{}, [&seen](ShardStore& store, const wire::Map&) -> Task<Status> {
                                Status status;
                                while (status.ok()) status = (co_await store.yield()).status;
                                seen = status;
                                co_return status;
                              }});
  SentFrames out;
  const auto turns = [&] {
    for (int i = 0; i < 3; ++i) {
      worker.on_time({}, out);
      Computation* const work = worker.take_work();
      if (work == nullptr) continue;
      work->compute();
      worker.on_computed({}, out);
    }
  };
  worker.on_frame({}, kScheduler, make_frame(Op::kWelcome, encode(wire::Welcome{worker_node(0), 7})), out);
  worker.on_frame({}, kScheduler, make_frame(Op::kMap, encode(started_map(1))), out);
  turns();
  EXPECT_FALSE(seen);
  wire::Map away = started_map(2);
  away.shards[0] = {1, 1};
  worker.on_frame({}, kScheduler, make_frame(Op::kMap, encode(away)), out);
  turns();
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->code(), Code::kAborted);
}

}  // namespace
}  // namespace thalweg
