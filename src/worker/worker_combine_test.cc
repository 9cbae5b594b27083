// A worker that leads another one of its machine.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/placed_keys.h"
#include "node/sent_frames_for_test.h"
#include "worker/worker.h"

namespace thalweg {
namespace {

using namespace std::chrono_literals;
using Sent = std::vector<std::pair<NodeId, Frame>>;

// Worker 0 leads worker 1; shards 0 and 1 are theirs, shard 2 is of worker 2 on another machine.
wire::Map combining_map(std::uint32_t epoch, Consistency consistency = Consistency::sync()) {
  wire::Map map;
  map.consistency = consistency;
  map.epoch = epoch;
  map.timeout = 10s;
  map.combine = Combining::machine();
  TableSpec table;
  table.name = "t";
  table.ranges = 4;
  map.tables = {table};
  map.servers = {"", ""};
  map.placement = first_placement(map.tables, 2);
  map.shards = {{0, 0}, {1, 0}, {2, 0}};
  map.workers = {{0, 0, ""}, {1, 0, ""}, {2, 1, ""}};
  return map;
}

constexpr std::uint64_t kLow = 5;  // Of range 0, at server 0.

Frame push_of(std::uint32_t shard, std::uint32_t map_epoch = 1) {
  Frame frame = make_frame(Op::kPush, Bytes::of(std::vector<std::uint64_t>{kLow}));
  frame.second = Bytes::of(std::vector<float>{2});
  frame.head.map_epoch = map_epoch;
  frame.head.request = 77;
  frame.head.shard = ShardId{shard};
  frame.head.ranges = {0, 2};
  return frame;
}

struct CombiningWorker {
  explicit CombiningWorker(std::uint32_t index, Consistency consistency = Consistency::sync()) {
    tell(kScheduler, make_frame(Op::kWelcome, encode(wire::Welcome{worker_node(index), 7})));
    tell(kScheduler, make_frame(Op::kMap, encode(combining_map(1, consistency))));
  }
  Sent tell(NodeId from, Frame frame) {
    worker.on_frame(now, from, std::move(frame), out);
    return out.take();
  }
  Sent pass(Duration time) {
    now = now + time;
    worker.on_time(now, out);
    Sent sent = out.take();
    std::erase_if(sent, [](const auto& frame) { return frame.first == kScheduler; });
    return sent;
  }
  // This worker's own push to keys of server 0; server 1 gets an empty one.
  Sent push(std::uint32_t shard) {
    worker.turn(now, out, [&] {
      completion = Completion::of(
          worker.store(ShardId{shard})->push(TableId{0}, placed_keys({kLow}), Rows(std::vector<float>{1})));
    });
    return out.take();
  }
  Sent answer(NodeId from, const Frame& asked, Code code = Code::kOk) {
    Frame frame;
    frame.head = asked.head;
    frame.head.op = Op::kPushReply;
    frame.head.code = code;
    return tell(from, frame);
  }

  Instant now{};
  SentFrames out;
  Worker worker{WorkerOptions{}};
  std::shared_ptr<Completion> completion;
};

TEST(WorkerCombine, ALeadAnswersWhenTheServerHas) {
  CombiningWorker lead(0);
  EXPECT_TRUE(lead.push(0).empty());
  const Sent sent = lead.tell(worker_node(1), push_of(1));
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].first, server_node(0));
  EXPECT_EQ(sent[0].second.head.shard_count(), 2u);
  EXPECT_EQ(sent[0].second.values()[0], 3.0f);
  const Sent answered = lead.answer(server_node(0), sent[0].second);
  ASSERT_EQ(answered.size(), 1u);
  EXPECT_EQ(answered[0].first, worker_node(1));
  EXPECT_EQ(answered[0].second.head.op, Op::kPushReply);
  EXPECT_EQ(answered[0].second.head.request, 77u);
  EXPECT_EQ(answered[0].second.head.code, Code::kOk);
  EXPECT_FALSE(lead.completion->done);  // Server 1 lacks the empty part.
  const Sent rest = lead.pass(limits::kCombineHold);
  ASSERT_EQ(rest.size(), 1u);
  EXPECT_EQ(rest[0].first, server_node(1));
  lead.answer(server_node(1), rest[0].second);
  EXPECT_TRUE(lead.completion->done);
  EXPECT_TRUE(lead.completion->answer.status.ok());
  EXPECT_EQ(lead.worker.requests_open(), 0u);
}

TEST(WorkerCombine, ARefusalIsHandedOn) {
  CombiningWorker lead(0);
  lead.push(0);
  const Sent sent = lead.tell(worker_node(1), push_of(1));
  const Sent answered = lead.answer(server_node(0), sent.at(0).second, Code::kRefused);
  ASSERT_EQ(answered.size(), 1u);
  EXPECT_EQ(answered[0].second.head.code, Code::kRefused);
  ASSERT_TRUE(lead.completion->done);
  EXPECT_EQ(lead.completion->answer.status.code(), Code::kRefused);
}

// A server that counts cannot put a sum in the place of what it has of it.
TEST(WorkerCombine, ASumThatIsPutOffGoesBackToItsPushes) {
  CombiningWorker lead(0, Consistency::softsync(1));
  const Sent first = lead.push(0);  // Nothing is on its way, so it waits for nobody.
  ASSERT_EQ(first.size(), 2u);
  const Sent second = lead.tell(worker_node(1), push_of(1));
  ASSERT_EQ(second.size(), 1u);
  lead.answer(server_node(0), first[0].second);
  Sent answered = lead.answer(server_node(0), second[0].second, Code::kRetry);
  ASSERT_EQ(answered.size(), 1u);
  EXPECT_EQ(answered[0].first, worker_node(1));
  EXPECT_EQ(answered[0].second.head.code, Code::kRetry);
  answered = lead.answer(server_node(1), first[1].second, Code::kRetry);
  const Sent straight = lead.pass(limits::kRefusalWaitFirst);
  ASSERT_EQ(straight.size(), 1u);
  EXPECT_EQ(straight[0].first, server_node(1));
  EXPECT_EQ(straight[0].second.head.shard_count(), 1u);
  lead.answer(server_node(1), straight[0].second);
  EXPECT_TRUE(lead.completion->done);
  EXPECT_EQ(lead.worker.requests_open(), 0u);
}

TEST(WorkerCombine, APushGoesToTheLeadOnceAndThenStraightToItsServer) {
  CombiningWorker child(1);
  Sent sent = child.push(1);
  ASSERT_EQ(sent.size(), 2u);
  for (const auto& [to, frame] : sent) EXPECT_EQ(to, worker_node(0));
  const auto all_to_servers = [](const Sent& frames) {
    return !frames.empty() &&
           std::ranges::all_of(frames, [](const auto& frame) { return frame.first.role == Role::kServer; });
  };
  EXPECT_TRUE(all_to_servers(child.pass(limits::kRetryFirst)));
  sent = child.tell(kScheduler, make_frame(Op::kMap, encode(combining_map(2))));
  ASSERT_EQ(sent.size(), 2u);
  for (const auto& [to, frame] : sent) {
    EXPECT_EQ(to, worker_node(0));
    EXPECT_EQ(frame.head.map_epoch, 2u);
  }
}

TEST(WorkerCombine, ANewMapMakesALeadForgetWhatItCombined) {
  CombiningWorker lead(0);
  const Sent sent = lead.tell(worker_node(1), push_of(1));
  EXPECT_TRUE(sent.empty());
  const Sent flushed = lead.pass(limits::kCombineHold);
  ASSERT_EQ(flushed.size(), 1u);
  lead.tell(kScheduler, make_frame(Op::kMap, encode(combining_map(2))));
  EXPECT_EQ(lead.worker.requests_open(), 0u);
  EXPECT_TRUE(lead.answer(server_node(0), flushed[0].second).empty());  // An answer of the old map's.
  EXPECT_TRUE(lead.pass(limits::kRetryMax).empty());
}

TEST(WorkerCombine, ALeadTakesNoPushThatAServerWouldNot) {
  CombiningWorker lead(0);
  const auto code_of = [&](NodeId from, const Frame& frame) {
    const Sent answered = lead.tell(from, frame);
    EXPECT_EQ(answered.size(), 1u);
    return answered.at(0).second.head.code;
  };
  EXPECT_EQ(code_of(worker_node(1), push_of(1, 0)), Code::kStale);
  EXPECT_EQ(code_of(worker_node(1), push_of(1, 2)), Code::kRetry);
  EXPECT_EQ(code_of(worker_node(2), push_of(2)), Code::kRefused);
  EXPECT_EQ(code_of(worker_node(1), push_of(0)), Code::kRefused);
  EXPECT_EQ(code_of(server_node(1), push_of(1)), Code::kRefused);
  EXPECT_EQ(code_of(worker_node(1), push_of(9)), Code::kRefused);
  Frame frame = push_of(1);
  frame.head.owner_epoch = 3;
  EXPECT_EQ(code_of(worker_node(1), frame), Code::kAborted);
  frame = push_of(1);
  frame.head.ranges = {0, 4};  // Of two servers.
  EXPECT_EQ(code_of(worker_node(1), frame), Code::kRefused);
  frame = push_of(1);
  frame.head.table = TableId{1};
  EXPECT_EQ(code_of(worker_node(1), frame), Code::kRefused);
  frame = push_of(1);
  frame.first = Bytes::of(std::vector<std::uint64_t>{kLow, kLow});
  EXPECT_EQ(code_of(worker_node(1), frame), Code::kRefused);
  EXPECT_TRUE(lead.pass(limits::kCombineHold).empty());
}

}  // namespace
}  // namespace thalweg
