// What a worker does where its scheduler is gone.
#include <gtest/gtest.h>

#include "node/sent_frames_for_test.h"
#include "worker/worker.h"

namespace thalweg {
namespace {

// A worker of a job whose scheduler's state is kept or not, once it has lost that.
struct DesertedWorker {
  explicit DesertedWorker(bool kept) {
    wire::Map map;
    map.epoch = 1;
    map.timeout = std::chrono::seconds(10);
    map.scheduler_kept = kept;
    map.tables.resize(1);
    map.servers = {""};
    map.placement = first_placement(map.tables, 1);
    map.shards = {{0, 0}};
    worker.on_frame({}, kScheduler, make_frame(Op::kWelcome, encode(wire::Welcome{worker_node(0), 7})), out);
    worker.on_frame({}, kScheduler, make_frame(Op::kMap, encode(map)), out);
    out.take();
    worker.on_peer_lost({}, kScheduler, out);
  }

  SentFrames out;
  Worker worker{WorkerOptions{}};
};

TEST(Worker, LeavesWhereNoOtherSchedulerComes) {
  DesertedWorker job(false);
  EXPECT_EQ(job.worker.membership().stopped(), Status(Code::kPeerLost, "scheduler is gone"));
  EXPECT_TRUE(job.out.take(Op::kGetMap).empty());
}

// Whoever takes the job up waits for it.
TEST(Worker, CallsAtOnceWhereAnotherSchedulerMayCome) {
  DesertedWorker job(true);
  EXPECT_FALSE(job.worker.membership().stopped());
  EXPECT_EQ(job.out.take(Op::kGetMap).size(), 1u);
}

}  // namespace
}  // namespace thalweg
