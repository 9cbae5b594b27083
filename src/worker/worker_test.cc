#include "worker/worker.h"

#include <gtest/gtest.h>

#include <functional>

#include "node/sent_frames_for_test.h"

namespace thalweg {
namespace {

using namespace std::chrono_literals;

wire::Map job_map(std::uint32_t epoch) {
  wire::Map map;
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
struct Started {
  Started() {
    tell(kScheduler, make_frame(Op::kWelcome, encode(wire::Welcome{worker_node(0), 7})));
    tell(kScheduler, make_frame(Op::kMap, encode(job_map(1))));
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
    worker.turn(now, out, [&] { completion = request(*worker.store(ShardId{0})).completion(); });
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
  Started job;
  const auto [asked, completion] = job.scan();
  job.run(12s);
  const Status why(Code::kPeerLost, "scheduler has answered nothing for 10 s");
  EXPECT_EQ(job.worker.membership().stopped(), why);
  EXPECT_TRUE(completion->done);
  EXPECT_TRUE(job.out.take(Op::kEnded).empty());
}

TEST(Worker, TakesOrdersFromTheSchedulerAlone) {
  Started job;
  for (const NodeId from : {server_node(0), worker_node(1)}) {
    job.tell(from, make_frame(Op::kStop));
    job.tell(from, make_frame(Op::kMap, encode(job_map(5))));
  }
  EXPECT_FALSE(job.worker.finished());
  EXPECT_EQ(job.worker.map().epoch, 1u);
}

TEST(Worker, TakesAnAnswerOnlyFromWhomItAskedAndOfTheRightKind) {
  Started job;
  const auto [asked, completion] = job.pull();
  job.tell(server_node(1), answer(asked, Op::kPullReply, {1, 2}));
  job.tell(server_node(0), answer(asked, Op::kPushReply, {1, 2}));
  job.tell(server_node(0), answer(asked, Op::kScanReply, {1, 2}));
  EXPECT_FALSE(completion->done);
  job.tell(server_node(0), answer(asked, Op::kPullReply, {1, 2}));
  ASSERT_TRUE(completion->done);
  EXPECT_TRUE(completion->answer.status.is_ok());
  EXPECT_EQ(completion->answer.rows[1], 2.0f);
  EXPECT_EQ(job.worker.requests_open(), 0u);
}

TEST(Worker, AnAnswerOfTheWrongSizeFailsTheRequest) {
  Started job;
  const auto [asked, completion] = job.pull();
  job.tell(server_node(0), answer(asked, Op::kPullReply, {1, 2, 3}));
  ASSERT_TRUE(completion->done);
  EXPECT_EQ(completion->answer.status.code(), Code::kRefused);
}

TEST(Worker, OnlyWhomItAskedMayPutOffADeadline) {
  Started job;
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
  Started job;
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
  Started job;
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
    Started job;
    const auto [asked, completion] = job.scan();
    Frame frame = answer(asked, Op::kScanReply, bad.rows, bad.keys);
    frame.head.step = bad.block;
    job.tell(server_node(0), frame);
    ASSERT_TRUE(completion->done);
    EXPECT_EQ(completion->answer.status.code(), Code::kRefused);
  }
}

TEST(Worker, GathersAScanInOrderHoweverItsBlocksCome) {
  Started job;
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
  Started job;
  const auto [asked, completion] = job.pull();
  job.tell(kScheduler, make_frame(Op::kStop));
  ASSERT_TRUE(completion->done);
  EXPECT_EQ(completion->answer.status.code(), Code::kAborted);
}

// A map that comes after the end would begin the shard that it gives away once more.
TEST(Worker, AMapAfterTheStopBeginsNothing) {
  Started job;
  job.tell(kScheduler, make_frame(Op::kStop));
  wire::Map late = job_map(2);
  late.shards[0].owner_epoch = 1;
  EXPECT_TRUE(job.tell(kScheduler, make_frame(Op::kMap, encode(late))).empty());
  EXPECT_EQ(job.worker.requests_open(), 0u);
  job.worker.drop_programs();
}

}  // namespace
}  // namespace thalweg
