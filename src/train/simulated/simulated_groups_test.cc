// Trainings whose shards talk to each other, in virtual time: groups, routes and algorithms are production
// ones.
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "client/replica/shard_group.h"
#include "train/simulated/simulated_cluster.h"
#include "train/simulated/simulation.h"
#include "train/trainer/trainer_for_test.h"

namespace thalweg {
namespace {

using namespace std::chrono_literals;

class SimulatedGroups : public TrainerTest {
 protected:
  SimulatedGroups() {
    options_.out.clear();
    options_.data_shards = options_.workers = 4;
    options_.servers = 1;
    options_.batch = 80;
    options_.optimizer = RuleKind::kAdagrad;
    simulation_.compute = *sim::ComputeTime::parse("lognormal(30ms,0.3)");
    simulation_.on_end = [this](const sim::TimedRun& run) { numbers_ = run; };
  }
  TrainResult simulate() {
    auto trainer = Trainer::open(options_);
    EXPECT_TRUE(trainer) << trainer.status().message();
    TrainResult result = trainer->run(simulation_);
    EXPECT_TRUE(result.status.ok()) << options_.algorithm << ": " << result.status.message();
    return result;
  }
  // Of a step, in seconds, where computing takes next to nothing.
  double step_by(const std::string& algorithm, const std::string& exchange) {
    options_.algorithm = algorithm;
    options_.exchange = exchange;
    const TrainResult result = simulate();
    return std::chrono::duration<double>(numbers_.time).count() / static_cast<double>(result.steps);
  }

  TrainSimulation simulation_;
  sim::TimedRun numbers_;
};

TEST_F(SimulatedGroups, HaveTheModelsOfThreads) {
  for (const auto& [algorithm, exchange] :
       {std::pair("sync", "ring"), std::pair("sync", "halving-doubling"),
        std::pair("local:3", "binomial-tree"), std::pair("fedavg:C=0.5,E=2", "ring"),
        std::pair("local:4", "recursive-doubling")}) {
    options_.algorithm = algorithm;
    options_.exchange = exchange;
    const TrainResult threads = run(options_), simulated = simulate();
    EXPECT_EQ(simulated.model_digest, threads.model_digest) << algorithm << " by " << exchange;
    EXPECT_EQ(simulated.steps, threads.steps) << algorithm;
    EXPECT_EQ(simulated.examples, threads.examples) << algorithm;
    EXPECT_EQ(simulated.valid_loss, threads.valid_loss) << algorithm;
    const Duration once = numbers_.time;
    EXPECT_EQ(simulate().model_digest, threads.model_digest);
    EXPECT_EQ(numbers_.time, once) << "the same seed, the same course";
  }
}

// As T37 has it: one program by servers, one worker, ring.
TEST_F(SimulatedGroups, LearnByARouteWhatTheyLearnByServers) {
  options_.algorithm = "sync";
  const TrainResult by_servers = simulate();
  options_.exchange = "ring";
  const TrainResult by_ring = simulate();
  ASSERT_TRUE(by_servers.valid_loss && by_ring.valid_loss);
  EXPECT_NEAR(*by_ring.valid_loss, *by_servers.valid_loss, 1e-6);
}

// A ring of four takes six steps, each with the latency; a sum that is doubled up takes two.
TEST_F(SimulatedGroups, StepsTakeTheLatenciesOfTheirRoute) {
  simulation_.compute = *sim::ComputeTime::parse("1us");
  simulation_.latency = 10ms;
  const double ring = step_by("sync", "ring"), doubling = step_by("sync", "recursive-doubling");
  // Behind it the sum of the step's sparse rows, for which ranks talk in rounds that both have.
  EXPECT_NEAR(ring - doubling, 0.04, 0.004);
  const double seldom = step_by("local:4", "ring"), once = step_by("local:1", "ring");
  EXPECT_LT(seldom, 0.3 * once) << "a mean every fourth step";
}

// A group by itself would go around for so many bytes, six latencies of which matter here alone.
TEST_F(SimulatedGroups, ChooseForTheRoomThatIsSimulated) {
  simulation_.compute = *sim::ComputeTime::parse("1us");
  simulation_.latency = 10ms;
  options_.hash_bits = 20;
  options_.epochs = 1;
  const double ring = step_by("local:1", "ring"), doubling = step_by("local:1", "recursive-doubling");
  EXPECT_GT(ring, 1.5 * doubling);
  EXPECT_LE(step_by("local:1", "auto"), 1.01 * doubling);
}

// Shard 0 is in a sum that shard 1 never comes to, and shard 1 at a barrier that shard 0 never comes to.
TEST_F(SimulatedGroups, ASimulationThatIsStuckSaysWhoWaitsForWhat) {
  SchedulerOptions wanted;
  wanted.servers = 1;
  wanted.workers = wanted.shards = 2;
  TableSpec table;
  table.kind = TableSpec::Kind::kDense;
  table.name = "t";
  table.rows = table.dim = table.ranges = 1;
  wanted.tables = {table};
  wanted.on_report = [](ShardId, ReportId, std::string_view) {};
  std::vector<float> vector(4);
  sim::TimedJob job = timed_job(simulation_, 1, wanted);
  sim::TimedCluster* at = nullptr;
  const auto ranks = virtual_ranks(simulation_, job, at);
  const auto groups = ranks->groups(RouteChoice());
  job.program_on = [&](Store& store, ShardStore&) -> Task<Status> {
    store.learnt(1);
    if (store.shard() == ShardId{1}) co_return (co_await store.barrier({0, 7})).status;
    co_return co_await groups[0]->run(sum_in_place(vector, RouteChoice()));
  };
  SimulatedCluster cluster(std::move(job));
  at = &cluster.timed();
  cluster.join(*ranks);
  int looks = 0;
  while (!cluster.wait({}) && ++looks < 100'000) {
  }
  const Status status = cluster.status();
  EXPECT_EQ(status.code(), Code::kTimeout);
  for (const char* part : {"waited 360", "not arrived: shard 0", "rank 0 waits in all-reduce", "from rank 1"})
    EXPECT_NE(status.message().find(part), std::string::npos) << part << " in: " << status.message();
  EXPECT_LT(cluster.now(), Instant{Duration(2h).count()});
}

// All wait for it in each step, three of four for three quarters of the time, and for each other when a pass
// ends.
TEST_F(SimulatedGroups, AStragglerHoldsUpLockstep) {
  options_.algorithm = "sync";
  options_.exchange = "ring";
  simulation_.compute = *sim::ComputeTime::parse("100ms");
  simulate();
  EXPECT_LT(numbers_.idle_share, 0.35);
  simulation_.stragglers = *sim::Stragglers::parse("1 of 4, x4");
  const TrainResult result = simulate();
  EXPECT_NEAR(std::chrono::duration<double>(numbers_.time).count(), 0.4 * static_cast<double>(result.steps),
              0.02 * static_cast<double>(result.steps));
  EXPECT_GE(numbers_.idle_share, 9.0 / 16);
  EXPECT_LT(numbers_.idle_share, 0.7);
  EXPECT_GT(numbers_.bytes_sent, 0u);
}

TEST_F(SimulatedGroups, EndEarlyTogether) {
  options_.epochs = 1000;
  options_.keep_best = false;
  simulation_.stop_after = 20s;
  for (const char* algorithm : {"sync", "local:3"}) {
    options_.algorithm = algorithm;
    options_.exchange = "ring";
    const TrainResult result = simulate();
    EXPECT_TRUE(result.complete) << algorithm;
    EXPECT_EQ(numbers_.time, 20s) << algorithm;
    EXPECT_NEAR(result.seconds, 20, 1) << algorithm;
  }
}

TEST_F(SimulatedGroups, TellWhyAShardFailed) {
  options_.algorithm = "local:2";
  std::ofstream(options_.files[0], std::ios::app) << "1 5:1\n0 6:x\n";
  auto trainer = Trainer::open(options_);
  ASSERT_TRUE(trainer);
  const TrainResult result = trainer->run(simulation_);
  EXPECT_EQ(result.status.code(), Code::kData) << result.status.message();
}

}  // namespace
}  // namespace thalweg
