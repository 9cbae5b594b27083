// How a worker learns that its map is old.
#include <gtest/gtest.h>

#include <vector>

#include "node/sent_frames_for_test.h"
#include "worker/worker.h"

namespace thalweg {
namespace {

// A worker with some pulls under way.
struct PullingWorker {
  explicit PullingWorker(std::size_t pulls) {
    worker.on_frame(now, kScheduler, make_frame(Op::kWelcome, encode(wire::Welcome{worker_node(0), 7})), out);
    tell_map(1);
    out.take();
    worker.turn(now, out, [&] {
      for (std::size_t i = 0; i < pulls; ++i)
        pending.push_back(
            Completion::of(worker.store(ShardId{0})->pull(TableId{0}, Keys::of(std::vector<Key>{i + 1}))));
    });
    for (auto& [to, pull] : out.take(Op::kPull)) asked.push_back(std::move(pull));
  }
  void tell_map(std::uint32_t epoch) {
    wire::Map map;
    map.epoch = epoch;
    map.timeout = std::chrono::seconds(10);
    map.tables.resize(1);
    map.servers = {""};
    map.placement = first_placement(map.tables, 1);
    map.shards = {{0, 0}};
    worker.on_frame(now, kScheduler, make_frame(Op::kMap, encode(map)), out);
  }
  // How often that makes it ask for a map.
  std::size_t answer_all_stale() {
    for (const Frame& pull : asked) {
      Frame stale;
      stale.head = pull.head;
      stale.head.op = Op::kPullReply;
      stale.head.code = Code::kStale;
      worker.on_frame(now, server_node(0), stale, out);
    }
    return out.take(Op::kGetMap).size();
  }

  Instant now{};
  SentFrames out;
  Worker worker{WorkerOptions{}};
  std::vector<std::shared_ptr<Completion>> pending;
  std::vector<Frame> asked;
};

// A slow worker would read a map for each of them, and do nothing else.
TEST(Worker, AsksOnceForAMapHoweverManyAnswersAreStale) {
  PullingWorker job(3);
  ASSERT_EQ(job.asked.size(), 3u);
  EXPECT_EQ(job.answer_all_stale(), 1u);
  EXPECT_EQ(job.answer_all_stale(), 0u);
  job.now = job.now + limits::kRetryFirst;  // What it asked may have been lost.
  EXPECT_EQ(job.answer_all_stale(), 1u);
  job.tell_map(2);
  EXPECT_EQ(job.answer_all_stale(), 1u) << "the map that came may be too old as well";
}

}  // namespace
}  // namespace thalweg
