// Requests that are under way while the map gives ranges to other servers.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "base/placed_keys.h"
#include "node/sent_frames_for_test.h"
#include "worker/worker.h"

namespace thalweg {
namespace {

using namespace std::chrono_literals;
using Sent = std::vector<std::pair<NodeId, Frame>>;
using Owners = std::vector<std::uint32_t>;  // By range.

constexpr std::uint16_t kRanges = 4;

wire::Map job_map(std::uint32_t epoch, const Owners& owners, bool dense = false) {
  wire::Map map;
  map.epoch = epoch;
  map.timeout = 10s;
  TableSpec table;
  table.name = "t";
  table.ranges = kRanges;
  if (dense) {
    table.kind = TableSpec::Kind::kDense;
    table.rows = 40;
  }
  map.tables = {table};
  map.servers = {"", "", ""};
  map.placement = {Placement::even(kRanges, 1)};
  for (std::uint16_t r = 0; r < kRanges; ++r)
    map.placement[0].move({r, static_cast<std::uint16_t>(r + 1)}, {owners[r]});
  map.shards = {{0, 0}};
  return map;
}

// Worker 0 of a job with one shard, used from outside.
struct AddressedWorker {
  explicit AddressedWorker(const Owners& owners, bool of_dense = false) : dense(of_dense) {
    tell(kScheduler, make_frame(Op::kWelcome, encode(wire::Welcome{worker_node(0), 7})));
    now_own(owners);
  }
  Sent tell(NodeId from, Frame frame) {
    worker.on_frame(now, from, std::move(frame), out);
    Sent sent = out.take();
    std::erase_if(sent, [](const auto& one) { return one.first == kScheduler; });
    return sent;
  }
  Sent now_own(const Owners& owners) {
    return tell(kScheduler, make_frame(Op::kMap, encode(job_map(++epoch, owners, dense))));
  }
  Sent ask(const std::function<Pending(ShardStore&)>& request) {
    worker.turn(now, out, [&] { completion = Completion::of(request(*worker.store(ShardId{0}))); });
    return out.take();
  }
  // A key of each range; dense: all rows but the first three and the last one.
  Keys keys() const {
    if (dense) return Keys::block(3, 36);
    std::vector<std::uint64_t> placed;
    for (std::uint16_t r = 0; r < kRanges; ++r) placed.push_back(range_first_key(r, kRanges) + 5);
    return placed_keys(placed);
  }
  Sent pull() {
    return ask([&](ShardStore& store) { return store.pull(TableId{0}, keys()); });
  }
  Sent push() {
    std::vector<float> grads(keys().size());
    for (std::size_t i = 0; i < grads.size(); ++i) grads[i] = static_cast<float>(i);
    return ask([&](ShardStore& store) { return store.push(TableId{0}, keys(), Rows(grads)); });
  }
  // Each row's value says which key it is of.
  Sent answer(const std::pair<NodeId, Frame>& asked) {
    Frame frame;
    frame.head = asked.second.head;
    frame.head.op = static_cast<Op>(static_cast<int>(asked.second.head.op) + 1);
    if (asked.second.head.op == Op::kPull) {
      std::vector<float> rows;
      const auto numbers = asked.second.keys();
      for (std::uint64_t i = 0; dense && i < numbers[1]; ++i)
        rows.push_back(static_cast<float>(numbers[0] + i));
      for (std::size_t i = 0; !dense && i < numbers.size(); ++i)
        rows.push_back(static_cast<float>(range_of(numbers[i], kRanges).value));
      frame.second = Bytes::of(std::move(rows));
    }
    return tell(asked.first, std::move(frame));
  }
  // One block of a scan's answer, or a count's.
  void answer_scan(const std::pair<NodeId, Frame>& asked, Step step, std::uint64_t first,
                   std::vector<float> rows) {
    Frame frame;
    frame.head = asked.second.head;
    frame.head.op = Op::kScanReply;
    frame.head.step = step;
    frame.first = Bytes::of(std::vector<std::uint64_t>{first});
    frame.second = Bytes::of(std::move(rows));
    tell(asked.first, std::move(frame));
  }
  void expect_all_rows() const {
    ASSERT_TRUE(completion->done);
    ASSERT_TRUE(completion->answer.status.ok()) << completion->answer.status.message();
    const auto rows = completion->answer.rows.span();
    ASSERT_EQ(rows.size(), keys().size());
    for (std::size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(rows[i], static_cast<float>(i + (dense ? 3 : 0)));
    EXPECT_EQ(worker.requests_open(), 0u);
  }

  Instant now{};
  SentFrames out;
  Worker worker{WorkerOptions{}};
  std::uint32_t epoch = 0;
  bool dense;
  std::shared_ptr<Completion> completion;
};

// "0:[0,2) 2:[3,4)": who is sent what, in the order of sending.
std::string told(const Sent& sent) {
  std::string text;
  for (const auto& [to, frame] : sent) {
    if (!text.empty()) text += ' ';
    text += std::to_string(to.index) + ':';
    text += text_of(frame.head.ranges);
  }
  return text;
}

TEST(WorkerAddress, CutsByTheMapsPlacement) {
  AddressedWorker job({0, 1, 0, 0});
  EXPECT_EQ(told(job.pull()), "0:[0,1) 1:[1,2) 0:[2,4)");
  EXPECT_EQ(told(job.push()), "0:[0,1) 1:[1,2) 0:[2,4)");
}

TEST(WorkerAddress, APartFollowsItsRanges) {
  AddressedWorker job({0, 0, 1, 1});
  const Sent before = job.pull();
  ASSERT_EQ(told(before), "0:[0,2) 1:[2,4)");
  const Sent after = job.now_own({2, 2, 1, 1});
  ASSERT_EQ(told(after), "2:[0,2) 1:[2,4)");
  EXPECT_EQ(after[0].second.head.request, before[0].second.head.request);
  EXPECT_EQ(after[0].second.head.map_epoch, 2u);
  job.answer(before[0]);  // Its former owner's last word comes too late.
  EXPECT_EQ(job.worker.requests_open(), 2u);
  job.answer(after[0]);
  job.answer(after[1]);
  job.expect_all_rows();
}

// Whatever comes first, and whatever was answered before, the rows are in the order of the keys.
TEST(WorkerAddress, APullIsCutAnewAndItsRowsKeepTheirOrder) {
  for (const bool dense : {false, true}) {
    for (const std::size_t answered_before : {0u, 1u, 2u}) {
      for (const bool backwards : {false, true}) {
        AddressedWorker job({0, 0, 0, 1}, dense);
        const Sent before = job.pull();
        ASSERT_EQ(told(before), "0:[0,3) 1:[3,4)");
        if (answered_before == 1) job.answer(before[1]);
        Sent after = job.now_own({1, 0, 2, 1});
        ASSERT_EQ(told(after),
                  answered_before == 1 ? "1:[0,1) 0:[1,2) 2:[2,3)" : "1:[0,1) 0:[1,2) 2:[2,3) 1:[3,4)");
        if (answered_before == 2) {  // Of a piece; then the others are cut once more, or put together.
          job.answer(after[1]);
          after = job.now_own({2, 2, 2, 2});
          ASSERT_EQ(told(after), "2:[3,4) 2:[0,1) 2:[2,3)");
        }
        job.answer(before[0]);  // An answer to the whole, which nobody asks for any more.
        EXPECT_EQ(job.worker.requests_open(), after.size());
        if (backwards) std::reverse(after.begin(), after.end());
        for (const auto& asked : after) {
          EXPECT_FALSE(job.completion->done);
          job.answer(asked);
        }
        job.expect_all_rows();
      }
    }
  }
}

TEST(WorkerAddress, APushIsCutAnewAndGivesEachRowOnce) {
  for (const bool dense : {false, true}) {
    AddressedWorker job({0, 0, 0, 0}, dense);
    const Sent before = job.push();
    ASSERT_EQ(told(before), "0:[0,4)");
    const Sent after = job.now_own({0, 1, 1, 2});
    ASSERT_EQ(told(after), "0:[0,1) 1:[1,3) 2:[3,4)");
    float next = 0;
    for (const auto& [to, frame] : after) {
      EXPECT_EQ(frame.head.op, Op::kPush);
      EXPECT_NE(frame.head.request, before[0].second.head.request);
      for (const float value : frame.values()) EXPECT_EQ(value, next++);
    }
    EXPECT_EQ(next, static_cast<float>(job.keys().size()));
    for (const auto& asked : after) {
      EXPECT_FALSE(job.completion->done);
      job.answer(asked);
    }
    EXPECT_TRUE(job.completion->done);
    EXPECT_EQ(job.worker.requests_open(), 0u);
  }
}

// A step without keys is told to all owners, of which there are more now.
TEST(WorkerAddress, AnEmptyPushIsCutAnewToo) {
  AddressedWorker job({0, 0, 0, 0});
  const Sent before = job.ask([](ShardStore& store) { return store.end_epoch(); });
  ASSERT_EQ(told(before), "0:[0,4)");
  const Sent after = job.now_own({0, 0, 1, 1});
  ASSERT_EQ(told(after), "0:[0,2) 1:[2,4)");
  for (const auto& asked : after) {
    EXPECT_EQ(asked.second.head.flags, frame_flags::kEndOfEpoch);
    EXPECT_FALSE(job.completion->done);
    job.answer(asked);
  }
  EXPECT_TRUE(job.completion->done);
}

TEST(WorkerAddress, AScanBeginsAgainWithTheNewOwner) {
  AddressedWorker job({0, 0, 0, 0});
  const Sent before = job.ask([](ShardStore& store) { return store.scan(TableId{0}, RangeId{1}); });
  const auto block = [&](const std::pair<NodeId, Frame>& asked, std::uint32_t number) {
    job.answer_scan(asked, {number, 2}, number, {1});
  };
  block(before[0], 0);
  const Sent after = job.now_own({0, 2, 0, 0});
  ASSERT_EQ(told(after), "2:[1,2)");
  block(before[0], 1);
  block(after[0], 1);
  EXPECT_FALSE(job.completion->done);
  block(after[0], 0);
  ASSERT_TRUE(job.completion->done);
  EXPECT_EQ(job.completion->answer.keys, (std::vector<std::uint64_t>{0, 1}));
}

TEST(WorkerAddress, RowsAreCountedOnceByWhoeverHasThem) {
  AddressedWorker job({0, 1, 0, 1});
  const auto rows = [&](const std::pair<NodeId, Frame>& asked, std::uint64_t count) {
    job.answer_scan(asked, asked.second.head.step, count, {});
  };
  const Sent before = job.ask([](ShardStore& store) { return store.count(TableId{0}); });
  ASSERT_EQ(told(before), "0:[0,1) 1:[1,2)");  // One question each.
  rows(before[0], 100);
  const Sent after = job.now_own({0, 0, 2, 0});
  ASSERT_EQ(told(after), "0:[0,2) 2:[2,3)");
  rows(before[1], 1000);
  rows(after[0], 7);
  EXPECT_FALSE(job.completion->done);
  rows(after[1], 5);
  ASSERT_TRUE(job.completion->done);
  EXPECT_EQ(job.completion->answer.keys, (std::vector<std::uint64_t>{12}));
}

// Ranges may go from a server that has not answered to one that has.
TEST(WorkerAddress, AnHeirAsksAllServersAgain) {
  AddressedWorker job({0, 0, 1, 2});
  wire::Map map = job_map(++job.epoch, {0, 0, 1, 2});
  map.shards[0] = {1, 1};
  job.tell(kScheduler, make_frame(Op::kMap, encode(map)));
  map.shards[0] = {0, 2};
  map.epoch = ++job.epoch;
  const Sent before = job.tell(kScheduler, make_frame(Op::kMap, encode(map)));
  ASSERT_EQ(before.size(), 3u);
  const auto marks = [&](const std::pair<NodeId, Frame>& asked, std::uint32_t low) {
    Frame frame;
    frame.head = asked.second.head;
    frame.head.op = Op::kMarksReply;
    frame.first = wire::encode(Reached{{0, low}, {0, 9}, false});
    job.tell(asked.first, std::move(frame));
  };
  marks(before[0], 6);
  map.placement[0].move({2, 3}, {0});
  map.epoch = ++job.epoch;
  const Sent after = job.tell(kScheduler, make_frame(Op::kMap, encode(map)));
  ASSERT_EQ(after.size(), 2u);  // One server owns nothing any more.
  marks(after[1], 8);
  EXPECT_EQ(job.worker.store(ShardId{0}), nullptr);
  marks(after[0], 4);
  ASSERT_NE(job.worker.store(ShardId{0}), nullptr);
  EXPECT_EQ(job.worker.store(ShardId{0})->step(), (Step{0, 4}));
}

}  // namespace
}  // namespace thalweg
