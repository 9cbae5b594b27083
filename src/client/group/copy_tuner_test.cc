#include "client/group/copy_tuner.h"

#include <gtest/gtest.h>

#include <functional>

namespace thalweg {
namespace {

using std::chrono::microseconds;
using Took = std::function<Duration(int)>;

Took always(int us) {
  return [us](int) { return microseconds(us); };
}

struct Counts {
  int fetched = 0, staged = 0, sent = 0;
};

// A machine on which each way takes as long as it is told to.
class Machine {
 public:
  Counts run(int operations, std::size_t bytes = std::size_t{4} << 20,
             Operation operation = Operation::kAllReduce) {
    Counts counts;
    for (int i = 0; i < operations; ++i) {
      const CopyTuner::Trial trial = tuner_.begin(operation, bytes, now_);
      const auto took = [&] {
        switch (trial.way) {
          case CopyWay::kFetch:
            ++counts.fetched;
            return fetch(i);
          case CopyWay::kStage:
            ++counts.staged;
            return stage(i);
          case CopyWay::kSend:
            break;
        }
        ++counts.sent;
        return send(i);
      };
      now_ = now_ + took();
      if (trial.is_timed()) tuner_.end(trial, now_);
    }
    return counts;
  }

  Took fetch = always(500), stage = always(500), send = always(600);

 private:
  CopyTuner tuner_;
  Instant now_{};
};

constexpr int kTrials = 13;  // Four of each way, and one that sends through fresh memory.

TEST(CopyTuner, TakesTheFastestWayOnceAllWereTried) {
  Machine near;
  near.stage = always(300);
  EXPECT_EQ(near.run(kTrials).staged, 4);
  EXPECT_EQ(near.run(15).staged, 15);
  Machine far;
  far.stage = always(2000);
  EXPECT_EQ(far.run(kTrials).staged, 4);
  EXPECT_EQ(far.run(15).fetched, 15);
  Machine brief;
  brief.send = always(100);
  EXPECT_EQ(brief.run(kTrials).sent, 5);
  EXPECT_EQ(brief.run(15).sent, 15);
}

TEST(CopyTuner, TriesTheOthersEverMoreSeldom) {
  Machine far;
  far.stage = always(2000);
  far.run(kTrials);
  Counts counts = far.run(64 + 128 + 256 + 512 + 4 * 4);
  EXPECT_EQ(counts.staged, 8);
  EXPECT_EQ(counts.sent, 8);
  counts = far.run(10 * (512 + 4));
  EXPECT_EQ(counts.staged, 20);
  EXPECT_EQ(counts.sent, 20);
}

TEST(CopyTuner, FollowsTheSystemThatMovesItsCores) {
  Machine machine;
  machine.stage = always(300);
  machine.run(1000);
  machine.stage = always(2000);
  machine.fetch = always(1400), machine.send = always(1900);
  machine.run(4);  // Stages no more once the last four were slow.
  EXPECT_EQ(machine.run(11).staged, 0);
  machine.run(1000);
  machine.stage = always(300);
  machine.run(2 * 512);
  EXPECT_EQ(machine.run(50).staged, 50);
}

// A rank that comes late makes an operation long, whichever way it goes.
TEST(CopyTuner, IsNotMisledByLateRanks) {
  Machine machine;
  machine.stage = [](int i) { return microseconds(i % 4 < 2 ? 5000 : 300); };
  machine.run(24);
  EXPECT_GE(machine.run(100).staged, 96);
}

TEST(CopyTuner, KnowsSizesAndOperationsApart) {
  Machine machine;
  machine.stage = always(300);
  machine.run(kTrials);
  machine.stage = always(900);
  EXPECT_EQ(machine.run(20, std::size_t{64} << 20).staged, 4);
  EXPECT_EQ(machine.run(20, std::size_t{4} << 20, Operation::kAllGather).staged, 4);
  EXPECT_EQ(machine.run(20, std::size_t{4} << 20, Operation::kReduceScatter).staged, 4);
  EXPECT_EQ(machine.run(20, std::size_t{4} << 20, Operation::kReduce).staged, 4);
  EXPECT_EQ(machine.run(20, 1000).staged, 0);
  EXPECT_EQ(machine.run(20, std::size_t{4} << 20, Operation::kBroadcast).staged, 0);
}

}  // namespace
}  // namespace thalweg
