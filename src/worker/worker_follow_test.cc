// A worker that has rows come down a tree.
#include <gtest/gtest.h>

#include <algorithm>

#include "node/sent_frames_for_test.h"
#include "worker/worker.h"

namespace thalweg {
namespace {

using namespace std::chrono_literals;
using Sent = std::vector<std::pair<NodeId, Frame>>;

constexpr std::uint32_t kRows = 4;

// Workers 0, 1 and 2 in a row; each has a shard. One server has all.
wire::Map followed_map(std::uint32_t epoch) {
  wire::Map map;
  map.epoch = epoch;
  map.timeout = 10s;
  map.consistency = Consistency::free_softsync(1);
  map.combine = Combining::tree_both_ways(1);
  TableSpec table;
  table.name = "t";
  table.kind = TableSpec::Kind::kDense;
  table.rows = kRows;
  table.ranges = 2;
  map.tables = {table};
  map.servers = {""};
  map.placement = first_placement(map.tables, 1);
  map.shards = {{0, 0}, {1, 0}, {2, 0}};
  map.workers = {{0, 0, ""}, {1, 0, ""}, {2, 0, ""}};
  return map;
}

struct FollowingWorker {
  explicit FollowingWorker(std::uint32_t index) : shard{index} {
    tell(kScheduler, make_frame(Op::kWelcome, encode(wire::Welcome{worker_node(index), 7})));
    asks = tell(kScheduler, make_frame(Op::kMap, encode(followed_map(1))));
  }
  Sent tell(NodeId from, Frame frame) {
    worker.on_frame(now, from, std::move(frame), out);
    return without_scheduler(out.take());
  }
  Sent pass(Duration time) {
    now = now + time;
    worker.on_time(now, out);
    return without_scheduler(out.take());
  }
  static Sent without_scheduler(Sent sent) {
    std::erase_if(sent, [](const auto& frame) { return frame.first == kScheduler; });
    return sent;
  }
  // The answer to an ask: all rows are `value`.
  Sent give(NodeId from, const Frame& asked, std::uint32_t version, float value) {
    Frame frame;
    frame.head = asked.head;
    frame.head.op = Op::kPullReply;
    frame.head.flags = 0;
    frame.head.version = version;
    frame.second = Bytes::of(std::vector<float>(kRows, value));
    return tell(from, frame);
  }
  std::shared_ptr<Completion> pull(Keys keys = Keys::block(1, 2)) {
    std::shared_ptr<Completion> completion;
    worker.turn(now, out,
                [&] { completion = Completion::of(worker.store(shard)->pull(TableId{0}, std::move(keys))); });
    EXPECT_TRUE(without_scheduler(out.take()).empty());
    return completion;
  }

  ShardId shard;
  Instant now{};
  SentFrames out;
  Worker worker{WorkerOptions{}};
  Sent asks;
};

Frame ask_of(std::uint32_t version) {
  Frame frame = make_frame(Op::kPull, Bytes::of(std::vector<std::uint64_t>{0, kRows}));
  frame.head.flags = frame_flags::kReadOnly | frame_flags::kNewer;
  frame.head.map_epoch = 1;
  frame.head.shard = kNoShard;
  frame.head.ranges = {0, 2};
  frame.head.request = 55;
  frame.head.version = version;
  return frame;
}

TEST(WorkerFollow, PullsWaitForTheFirstRowsAndForNoneAfter) {
  FollowingWorker root(0);
  ASSERT_EQ(root.asks.size(), 1u);
  EXPECT_EQ(root.asks[0].first, server_node(0));
  const auto first = root.pull();
  EXPECT_FALSE(first->done);
  Sent next = root.give(server_node(0), root.asks[0].second, 1, 5);
  ASSERT_TRUE(first->done);
  EXPECT_EQ(first->answer.rows.size(), 2u);
  EXPECT_EQ(first->answer.rows[0], 5.0f);
  ASSERT_EQ(next.size(), 1u) << "it asks for newer ones";
  EXPECT_EQ(next[0].second.head.version, 1u);
  next = root.give(server_node(0), next[0].second, 4, 8);
  const auto newest = root.pull();
  ASSERT_TRUE(newest->done);
  EXPECT_EQ(newest->answer.rows[1], 8.0f);
  root.worker.turn(root.now, root.out, [&] {
    root.worker.store(root.shard)->push(TableId{0}, Keys::block(0, 1), Rows(std::vector<float>{1})).forget();
  });
  const Sent pushed = root.out.take(Op::kPush);
  ASSERT_EQ(pushed.size(), 1u);
  EXPECT_EQ(pushed[0].second.head.version, 1u) << "the oldest that it has pulled";
}

TEST(WorkerFollow, WhoIsBelowGetsTheNewestWhenItAsks) {
  FollowingWorker root(0);
  EXPECT_TRUE(root.tell(worker_node(1), ask_of(0)).empty());
  Sent sent = root.give(server_node(0), root.asks[0].second, 3, 5);
  ASSERT_EQ(sent.size(), 2u);
  const auto of = [&](NodeId to) {
    return std::ranges::find(sent, to, &std::pair<NodeId, Frame>::first)->second;
  };
  const Frame answer = of(worker_node(1)), ask = of(server_node(0));
  EXPECT_EQ(answer.head.op, Op::kPullReply);
  EXPECT_EQ(answer.head.request, 55u);
  EXPECT_EQ(answer.head.version, 3u);
  EXPECT_EQ(answer.values()[0], 5.0f);
  root.give(server_node(0), ask, 4, 6);  // Nobody below asks for these.
  EXPECT_TRUE(root.tell(worker_node(1), ask_of(4)).empty());
  sent = root.tell(worker_node(1), ask_of(3));
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].second.values()[0], 6.0f);
}

TEST(WorkerFollow, AsksTheWorkerAboveOnceAndThenTheServer) {
  FollowingWorker child(1);
  ASSERT_EQ(child.asks.size(), 1u);
  EXPECT_EQ(child.asks[0].first, worker_node(0));
  const Sent again = child.pass(limits::kRetryFirst);
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again[0].first, server_node(0));
  EXPECT_TRUE(child.give(worker_node(0), again[0].second, 9, 1).empty()) << "it is not asked any more";
  Sent next = child.give(server_node(0), again[0].second, 2, 1);
  ASSERT_EQ(next.size(), 1u);
  EXPECT_EQ(next[0].first, worker_node(0));
  next = child.tell(kScheduler, make_frame(Op::kMap, encode(followed_map(2))));
  ASSERT_EQ(next.size(), 1u);
  EXPECT_EQ(next[0].first, worker_node(0));
  EXPECT_EQ(next[0].second.head.version, 2u) << "what it has it keeps";
  EXPECT_TRUE(child.pull()->done);
}

TEST(WorkerFollow, AnswersThoseBelowItAlone) {
  FollowingWorker root(0);
  root.give(server_node(0), root.asks[0].second, 3, 5);
  const auto code_of = [&](NodeId from, const Frame& frame) {
    const Sent answered = root.tell(from, frame);
    EXPECT_EQ(answered.size(), 1u);
    return answered.at(0).second.head.code;
  };
  EXPECT_EQ(code_of(worker_node(1), ask_of(0)), Code::kOk);
  EXPECT_EQ(code_of(worker_node(2), ask_of(0)), Code::kRefused);
  EXPECT_EQ(code_of(server_node(0), ask_of(0)), Code::kRefused);
  Frame frame = ask_of(0);
  frame.head.map_epoch = 2;
  EXPECT_EQ(code_of(worker_node(1), frame), Code::kRetry);
  frame = ask_of(0);
  frame.head.ranges = {0, 1};
  EXPECT_EQ(code_of(worker_node(1), frame), Code::kRefused);
  frame = ask_of(0);
  frame.head.table = TableId{7};
  EXPECT_EQ(code_of(worker_node(1), frame), Code::kRefused);
  frame = ask_of(0);
  frame.head.flags = 0;
  EXPECT_EQ(code_of(worker_node(1), frame), Code::kRefused);
}

TEST(WorkerFollow, AStopEndsPullsThatWait) {
  FollowingWorker root(0);
  const auto waits = root.pull();
  root.tell(kScheduler, make_frame(Op::kStop));
  EXPECT_TRUE(waits->done);
  EXPECT_EQ(root.worker.requests_open(), 0u);
}

}  // namespace
}  // namespace thalweg
