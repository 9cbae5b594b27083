// Trainings whose scheduler is away for a long time, on production nodes in virtual time: steps need nothing
// of it.
#include <functional>
#include <memory>

#include "train/replica_trainer.h"
#include "train/simulated/simulated_cluster.h"
#include "train/train_job.h"
#include "train/trainer/trainer_for_test.h"

namespace thalweg {
namespace {

using namespace std::chrono_literals;

struct AwayRun {
  TrainResult result;
  std::uint64_t begun = 0, ended = 0;  // Gradients computed when the scheduler leaves, and is back.
  std::uint64_t gradients() const { return ended - begun; }
};

class SchedulerAwayTest : public TrainerTest {
 protected:
  SchedulerAwayTest() {
    options_.valid_part = 0;
    options_.epochs = 1;
    options_.data_shards = options_.workers = 4;
    options_.servers = 2;
    options_.batch = 8;  // 500 steps of about 2 s.
    auto compute = sim::ComputeTime::parse("lognormal(2s,0.1)");
    EXPECT_TRUE(compute);
    if (compute) simulation_.compute = *compute;
  }

  // From 100 s on for 10 minutes, or not at all.
  AwayRun run_with(bool away) const {
    AwayRun run;
    auto job = TrainJob::create(options_);
    EXPECT_TRUE(job) << job.status().message();
    const auto inputs = (*job)->inputs();
    sim::TimedJob timed = timed_job(simulation_, 1, (*job)->scheduler_options(2, 4));
    timed.program_on = [inputs](Store& store, ShardStore& own) {
      return train_by_algorithm({store, own}, inputs);
    };
    timed.observer = [observe = (*job)->observer()](ShardStore& store) {
      return observe(store, wire::Map());
    };
    SimulatedCluster cluster(std::move(timed));
    sim::TimedCluster& nodes = cluster.timed();
    constexpr Instant kLeaves{Duration(100s).count()}, kIsBack{Duration(700s).count()};
    nodes.at(kLeaves, [&] {
      run.begun = nodes.run().gradients;
      if (away) nodes.pause_scheduler(kIsBack);
    });
    nodes.at(kIsBack, [&] { run.ended = nodes.run().gradients; });
    (*job)->live_by([&] { return cluster.now(); }, [&] { cluster.tell(); });
    run.result = (*job)->run(cluster, 2, 4);
    EXPECT_TRUE(run.result.status.ok()) << run.result.status.message();
    EXPECT_GT(run.result.seconds, 800) << "it is away within the pass";
    return run;
  }
  void expect_steps_go_on(const std::string& algorithm, bool in_lockstep) {
    options_.algorithm = algorithm;
    const AwayRun calm = run_with(false), away = run_with(true);
    EXPECT_GT(calm.gradients(), 500u);
    EXPECT_GE(static_cast<double>(away.gradients()), 0.99 * static_cast<double>(calm.gradients()));
    EXPECT_EQ(away.result.steps, calm.result.steps);
    EXPECT_EQ(away.result.examples, calm.result.examples);
    if (!in_lockstep) return;
    EXPECT_EQ(away.result.train_loss, calm.result.train_loss);
    EXPECT_EQ(away.result.model_digest, calm.result.model_digest);
  }

  TrainSimulation simulation_;
};

TEST_F(SchedulerAwayTest, InLockstepStepsGoOnAndNoBitChanges) { expect_steps_go_on("sync", true); }

TEST_F(SchedulerAwayTest, ShardsThatWaitForNobodyGoOn) { expect_steps_go_on("async", false); }

TEST_F(SchedulerAwayTest, WithABoundStepsGoOn) { expect_steps_go_on("ssp:3", false); }

}  // namespace
}  // namespace thalweg
