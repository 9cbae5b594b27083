// Trainings on simulated nodes by the trainer of real ones.
#include "train/simulated/simulation.h"

#include <fstream>
#include <utility>
#include <vector>

#include "train/trainer/trainer_for_test.h"

namespace thalweg {
namespace {

using namespace std::chrono_literals;

class SimulationTest : public TrainerTest {
 protected:
  SimulationTest() {
    options_.out.clear();
    options_.data_shards = options_.workers = 4;
    options_.servers = 1;
    options_.batch = 64;
    auto compute = sim::ComputeTime::parse("lognormal(30ms,0.3)");
    EXPECT_TRUE(compute);
    if (compute) simulation_.compute = *compute;
  }
  TrainResult simulate(const TrainerOptions& options) const {
    auto trainer = Trainer::open(options);
    EXPECT_TRUE(trainer) << trainer.status().message();
    return trainer->run(simulation_);
  }

  TrainSimulation simulation_;
};

TEST_F(SimulationTest, InLockstepItHasTheModelOfThreads) {
  const TrainResult threads = run(options_), simulated = simulate(options_);
  ASSERT_TRUE(simulated.status.ok()) << simulated.status.message();
  EXPECT_EQ(simulated.model_digest, threads.model_digest);
  EXPECT_EQ(simulated.steps, threads.steps);
  EXPECT_EQ(simulated.pushed_bytes, threads.pushed_bytes);
  EXPECT_EQ(simulated.valid_loss, threads.valid_loss);
  EXPECT_GT(simulated.seconds, 0.03 * static_cast<double>(simulated.steps));
  EXPECT_GT(simulated.idle_share, 0.1) << "all wait for the slowest of each step";
  EXPECT_LT(simulated.idle_share, 0.5);
}

// Replicas have both tables fetched before a gradient is computed: two answers, for which the shard waits
// once.
TEST_F(SimulationTest, ReplicasAreNoMoreIdleThanShardsWithoutThem) {
  options_.algorithm = "async";
  const double idle = simulate(options_).idle_share;
  for (const char* algorithm : {"downpour", "dcasgd", "dcasgd-a"}) {
    options_.algorithm = algorithm;
    EXPECT_NEAR(simulate(options_).idle_share, idle, 0.02) << algorithm;
  }
}

TEST_F(SimulationTest, AddsUpPushesOnTheirWay) {
  simulation_.latency = 40ms;  // So that pushes wait for answers, and for each other.
  options_.algorithm = "rudra:1";
  const TrainResult singly = simulate(options_);
  options_.algorithm = "rudra-adv:1,tree=2";
  const TrainResult by_tree = simulate(options_);
  ASSERT_TRUE(singly.complete && by_tree.complete) << by_tree.status.message();
  EXPECT_EQ(by_tree.examples, singly.examples);
  EXPECT_LT(by_tree.pushed_bytes, singly.pushed_bytes) << "at the server";
  EXPECT_EQ(simulate(options_).model_digest, by_tree.model_digest);
}

TEST_F(SimulationTest, TellsOfPassesAndProgressTheSameEachTime) {
  options_.algorithm = "async";
  std::vector<double> told;
  const auto tell = [&](double seconds, const TrainCosts& costs) {
    told.insert(told.end(), {seconds, static_cast<double>(costs.bytes_sent), costs.staleness_mean});
  };
  options_.on_epoch = [&](const TrainEpoch& epoch) { tell(epoch.seconds, epoch.costs); };
  options_.on_progress = [&](const TrainProgress& now) {
    tell(std::chrono::duration<double>(now.elapsed).count(), now.costs);
  };
  const TrainResult result = simulate(options_);
  ASSERT_TRUE(result.complete) << result.status.message();
  const std::vector<double> once = std::exchange(told, {});
  EXPECT_GT(once.size(), 3u * 50);
  EXPECT_EQ(simulate(options_).model_digest, result.model_digest);
  EXPECT_EQ(told, once);
  ++options_.seed;
  EXPECT_NE(simulate(options_).seconds, result.seconds);
}

TEST_F(SimulationTest, EndsEarlyWhenAsked) {
  options_.epochs = 1000;
  Trainer* open = nullptr;
  options_.on_progress = [&](const TrainProgress& now) {
    if (now.elapsed > 5s) open->close();
  };
  auto trainer = Trainer::open(options_);
  ASSERT_TRUE(trainer);
  open = &*trainer;
  const TrainResult result = trainer->run(simulation_);
  EXPECT_EQ(result.status.code(), Code::kAborted);
  EXPECT_TRUE(result.complete);
  EXPECT_NEAR(result.seconds, 5, 0.5);
}

TEST_F(SimulationTest, StopsAfterItsTimeAndThatIsNoError) {
  options_.epochs = 1000;
  options_.keep_best = false;
  simulation_.stop_after = 20s;
  sim::TimedRun numbers;
  simulation_.on_end = [&](const sim::TimedRun& run) { numbers = run; };
  std::vector<std::uint32_t> told;
  options_.on_epoch = [&](const TrainEpoch& epoch) { told.push_back(epoch.number); };
  const TrainResult result = simulate(options_);
  ASSERT_TRUE(result.status.ok()) << result.status.message();
  EXPECT_EQ(numbers.time, 20s);
  EXPECT_NEAR(result.seconds, 20, 0.5);
  ASSERT_FALSE(told.empty());
  EXPECT_LT(told.back(), 20u) << "passes that were cut short are not told of";
  EXPECT_FALSE(result.valid_loss);
  EXPECT_TRUE(result.warnings.empty()) << result.warnings.front();
}

TEST_F(SimulationTest, TellsWhyAShardFailed) {
  std::ofstream(options_.files[0], std::ios::app) << "1 5:1\n0 6:x\n";
  const TrainResult result = simulate(options_);
  EXPECT_EQ(result.status.code(), Code::kData) << result.status.message();
  EXPECT_NE(result.status.message().find("clicks.svm:"), std::string::npos) << result.status.message();
  EXPECT_FALSE(result.complete);
}

TEST_F(SimulationTest, RunsOnce) {
  simulation_.latency = 1ms;
  auto trainer = Trainer::open(options_);
  ASSERT_TRUE(trainer);
  EXPECT_TRUE(trainer->run(simulation_).complete);
  EXPECT_EQ(trainer->run(simulation_).status.code(), Code::kUsage) << "a trainer runs once";
}

}  // namespace
}  // namespace thalweg
