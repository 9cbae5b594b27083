#include "client/group/copy_tuner.h"

#include <gtest/gtest.h>

#include <functional>

namespace thalweg {
namespace {

using CopyWay = CopyTuner::Way;
using std::chrono::microseconds;

// A machine on which each way takes as long as it is told to.
class Machine {
 public:
  // How many of the operations were staged.
  int run(int operations, std::size_t bytes = std::size_t{4} << 20,
          Operation operation = Operation::kAllReduce) {
    int staged = 0;
    for (int i = 0; i < operations; ++i) {
      const CopyTuner::Trial trial = tuner_.begin(operation, bytes, now_);
      now_ = now_ + (trial.way == CopyWay::kStage ? stage(i) : fetch(i));
      if (trial.is_timed()) tuner_.end(trial, now_);
      if (trial.way == CopyWay::kStage) ++staged;
    }
    return staged;
  }

  std::function<Duration(int)> fetch = [](int) { return microseconds(500); };
  std::function<Duration(int)> stage = [](int) { return microseconds(500); };

 private:
  CopyTuner tuner_;
  Instant now_{};
};

TEST(CopyTuner, TakesTheFasterWayOnceBothWereTried) {
  Machine near;
  near.stage = [](int) { return microseconds(300); };
  EXPECT_EQ(near.run(8), 4);
  EXPECT_EQ(near.run(15), 15);
  Machine far;
  far.stage = [](int) { return microseconds(2000); };
  EXPECT_EQ(far.run(8), 4);
  EXPECT_EQ(far.run(15), 0);
}

TEST(CopyTuner, TriesTheSlowerOneEverMoreSeldom) {
  Machine far;
  far.stage = [](int) { return microseconds(2000); };
  far.run(8);
  EXPECT_EQ(far.run(16 + 32 + 64), 3);
  EXPECT_EQ(far.run(10 * 128), 10);
}

TEST(CopyTuner, FollowsTheSystemThatMovesItsCores) {
  Machine machine;
  machine.stage = [](int) { return microseconds(300); };
  machine.run(1000);
  machine.stage = [](int) { return microseconds(2000); };
  machine.fetch = [](int) { return microseconds(1400); };
  machine.run(8);
  EXPECT_EQ(machine.run(11), 0);
  machine.run(1000);
  machine.stage = [](int) { return microseconds(300); };
  machine.run(129);
  EXPECT_GE(machine.run(100), 97);
}

// A rank that comes late makes an operation long, whichever way it goes.
TEST(CopyTuner, IsNotMisledByLateRanks) {
  Machine machine;
  machine.stage = [](int i) { return microseconds(i % 4 < 2 ? 5000 : 300); };
  machine.run(16);
  EXPECT_GE(machine.run(100), 98);
}

TEST(CopyTuner, KnowsSizesAndOperationsApart) {
  Machine machine;
  machine.stage = [](int) { return microseconds(300); };
  machine.run(8);
  machine.stage = [](int) { return microseconds(900); };
  EXPECT_EQ(machine.run(20, std::size_t{64} << 20), 4);
  EXPECT_EQ(machine.run(20, std::size_t{4} << 20, Operation::kAllGather), 4);
  EXPECT_EQ(machine.run(20, std::size_t{4} << 20, Operation::kReduceScatter), 4);
  EXPECT_EQ(machine.run(20, 1000), 0);
  EXPECT_EQ(machine.run(20, std::size_t{4} << 20, Operation::kReduce), 0);
}

}  // namespace
}  // namespace thalweg
