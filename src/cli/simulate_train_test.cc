// What `simulate train` says of trainings by the production program of shards, on rows of its own.
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/run_for_test.h"

namespace thalweg {
namespace {

using nlohmann::json;

class SimulateTrain : public testing::Test {
 protected:
  SimulateTrain() { EXPECT_EQ(run("data synth --rows 4000 -o " + rows_).code, 0); }
  ~SimulateTrain() override { std::remove(rows_.c_str()); }
  std::string output(const std::string& flags) const {
    const Ran ran = run("simulate train " + rows_ + " --json " + flags);
    EXPECT_EQ(ran.code, 0) << ran.err;
    return ran.out;
  }
  json result(const std::string& flags) const { return json::parse(output(flags)); }

  const std::string rows_ = test_path("rows.svm");
};

// Of four workers one takes 4 s for a gradient, the others 1 s.
TEST_F(SimulateTrain, AStragglerHoldsUpLockstepAndNobodyElse) {
  const std::string room = "--workers 4 --batch 8 --compute 1s --straggler '1 of 4, x4' --stop-after 200s ";
  const json sync = result(room + "--algorithm sync"), async = result(room + "--algorithm async");
  EXPECT_NEAR(sync["gradients_per_second"], 1.0, 0.02);
  EXPECT_NEAR(async["gradients_per_second"], 3.25, 0.02 * 3.25);
  EXPECT_NEAR(sync["idle_share"], 9.0 / 16, 0.02);
  EXPECT_LT(async["idle_share"], 0.02);
  EXPECT_EQ(sync["push_staleness_max"], 0);
}

TEST_F(SimulateTrain, AsynchronousGradientsAreAsStaleAsThereAreOthers) {
  const json run =
      result("--workers 30 --batch 30 --algorithm async --compute 'normal(1s,5%)' --stop-after 100s");
  EXPECT_NEAR(run["push_staleness_mean"], 29, 0.02 * 29);
  EXPECT_FALSE(run.contains("staleness_mean"));  // Which `train` has for steps ahead of the slowest.
}

// (30 - 1) / c updates, c pushes an update.
TEST_F(SimulateTrain, CountsStalenessOfSoftsyncInUpdates) {
  const std::string room = "--workers 30 --batch 30 --compute 'normal(1s,5%)' --stop-after 100s --algorithm ";
  const json two = result(room + "softsync:2"), all = result(room + "softsync:30");
  EXPECT_NEAR(two["push_staleness_updates_mean"], 29 / 15.0, 0.02 * 29 / 15);
  EXPECT_NEAR(all["push_staleness_updates_mean"], 29, 0.02 * 29);
  EXPECT_FALSE(result(room + "async").contains("push_staleness_updates"));
  const Ran shown = run("simulate train " + rows_ + " " + room + "softsync:2");
  EXPECT_NE(shown.out.find("; in updates: mean 1.9"), std::string::npos) << shown.out;
}

TEST_F(SimulateTrain, TheBoundIsReachedAndNeverExceeded) {
  for (const int bound : {0, 1, 3, 10}) {
    const json run = result(
        "--workers 4 --batch 40 --compute 'lognormal(1s,0.3)' --straggler '1 of 4, x5' "
        "--stop-after 100s --algorithm ssp:" +
        std::to_string(bound));
    EXPECT_EQ(run["steps_ahead_max"], bound);
  }
}

TEST_F(SimulateTrain, LearnsAndSaysTheSameEachTime) {
  const std::string flags =
      "--workers 4 --batch 40 --algorithm async --compute 'lognormal(30ms,0.3)' --bandwidth 1G";
  const std::string once = output(flags);
  EXPECT_EQ(output(flags), once);
  const json curve = json::parse(once)["curve"];
  ASSERT_GT(curve.size(), 10u);
  EXPECT_LT(curve.back()["loss"], curve.front()["loss"]);
  EXPECT_NE(json::parse(output(flags + " --seed 2"))["trace_hash"], json::parse(once)["trace_hash"]);
}

// Shards that fetch and push every fifth step compute as often as others.
TEST_F(SimulateTrain, ShardsWithReplicasComputeEachGradient) {
  const json run =
      result("--workers 4 --batch 8 --compute 1s --stop-after 100s --algorithm downpour:fetch=5,push=5");
  EXPECT_NEAR(run["gradients_per_second"], 4, 0.08);
}

// In lockstep the model follows from the data alone, whoever drives the nodes.
TEST_F(SimulateTrain, ScoresHeldOutRowsAfterEachPassAndHasTheModelOfARealTraining) {
  const std::string same = "--data-shards 4 --workers 4 --epochs 3 --valid-part 10 ";
  const json simulated = result(same + "--compute 1s --straggler '1 of 4, x4'");
  const Ran real = run("train " + rows_ + " --json --keep last " + same);
  ASSERT_EQ(real.code, 0) << real.err;
  EXPECT_EQ(simulated["model_digest"], json::parse(real.out)["model_digest"]);
  const json& epochs = simulated["epochs"];
  ASSERT_EQ(epochs.size(), 3u);
  EXPECT_EQ(epochs[2]["valid_logloss"], json::parse(real.out)["valid_logloss"]);
  for (int pass = 0; pass < 3; ++pass) {
    const double steps = epochs[pass]["steps"];
    EXPECT_EQ(steps * 3, simulated["epochs"][2]["steps"].get<double>() * (pass + 1));
    EXPECT_NEAR(epochs[pass]["seconds"], 4 * steps, 0.1) << "the slow worker takes 4 s a step";
  }
  const Ran shown = run("simulate train " + rows_ + " " + same);
  EXPECT_NE(shown.out.find("pass 3 ended after"), std::string::npos) << shown.out;
}

TEST_F(SimulateTrain, GoesOnWithASavedModel) {
  const std::string model = test_path("model"), same = "--data-shards 4 --workers 4 --batch 64 ";
  ASSERT_EQ(run("train " + rows_ + " --out " + model + " " + same).code, 0);
  const Ran real = run("train " + rows_ + " --json --init " + model + " " + same);
  ASSERT_EQ(real.code, 0) << real.err;
  EXPECT_EQ(result("--init " + model + " " + same)["model_digest"], json::parse(real.out)["model_digest"]);
  EXPECT_NE(result(same)["model_digest"], json::parse(real.out)["model_digest"]);
  std::filesystem::remove_all(model);
}

TEST_F(SimulateTrain, APassThatIsCutShortScoresNothing) {
  const json run = result("--epochs 3 --valid-part 10 --batch 40 --compute 1s --stop-after 140s");
  ASSERT_EQ(run["epochs"].size(), 2u) << "the third is never begun";
  EXPECT_TRUE(run["epochs"][0].contains("valid_logloss"));
  EXPECT_NEAR(run["epochs"][0]["seconds"], 91, 1);
  EXPECT_FALSE(run["epochs"][1].contains("valid_logloss"));
  EXPECT_NEAR(run["simulated_seconds"], 140, 1);
}

// Its links take the place of latency and bandwidth, and it grows to the nodes that there are.
TEST_F(SimulateTrain, WorkersSitInARoom) {
  const std::string job = "--workers 16 --batch 16 --algorithm async --compute 1ms --stop-after 50ms ";
  const json slow = result(job + "--room rack-1g"), fast = result(job + "--room rack-100g");
  EXPECT_GT(fast["gradients"], slow["gradients"]);
  EXPECT_LT(fast["idle_share"], slow["idle_share"]);
  EXPECT_EQ(output(job + "--room rack-1g"), output(job + "--room rack-1g"));
  const Ran small = run("simulate train " + rows_ + " --room dgx1v --workers 9");
  EXPECT_EQ(small.code, 2);
  EXPECT_NE(small.err.find("expected 1 to 8"), std::string::npos) << small.err;
  const Ran both = run("simulate train " + rows_ + " --room rack-1g --latency 1ms");
  EXPECT_EQ(both.code, 2);
  EXPECT_NE(both.err.find("cannot be combined with --latency"), std::string::npos) << both.err;
}

// Whatever the algorithm, shards that talk to each other take the room's links, and the same ones each time.
// The bits are a route's, and `auto` may choose another one in another room.
TEST_F(SimulateTrain, ShardsOfAGroupSitInARoomToo) {
  for (const std::string algorithm :
       {"sync --exchange ring", "local:2 --exchange hierarchical", "fedavg --exchange tree"}) {
    const std::string job = "--workers 16 --batch 160 --epochs 2 --compute 1ms --algorithm " + algorithm;
    const json slow = result(job + " --room rack-1g"), fast = result(job + " --room rack-100g");
    EXPECT_EQ(fast["model_digest"], slow["model_digest"]) << algorithm;
    EXPECT_LT(fast["simulated_seconds"], slow["simulated_seconds"]) << algorithm;
    EXPECT_EQ(output(job + " --room rack-1g"), output(job + " --room rack-1g")) << algorithm;
  }
}

// Both talk to the servers in every sixteenth step, over a slow network, at the best of the rates that
// docs/claims.md tells of; the one that pushes what its gradients sum to needs the more passes, whatever the
// seed.
TEST_F(SimulateTrain, ElasticAveragesLearnFasterThanPushesOfTheSamePeriod) {
  const std::string rows = test_path("more-rows.svm");
  ASSERT_EQ(run("data synth --rows 10000 -o " + rows).code, 0);
  const auto to_target = [&](const std::string& flags, int seed) {
    const Ran ran =
        run("simulate train " + rows +
            " --valid-part 10 --workers 16 --batch 128 --epochs 6 --optimizer sgd --bandwidth 1M --compute "
            "'lognormal(10ms,0.3)' --json --seed " +
            std::to_string(seed) + " " + flags);
    EXPECT_EQ(ran.code, 0) << ran.err;
    const json learnt = json::parse(ran.out);
    for (const json& pass : learnt["epochs"]) {
      if (pass["valid_logloss"].get<double>() <= 0.51) return pass["seconds"].get<double>();
    }
    return 1e300;
  };
  for (const int seed : {1, 2, 3, 4}) {
    const double elastic = to_target("--algorithm easgd:tau=16,rho=0.1 --rate 0.1", seed);
    EXPECT_LT(elastic, 10) << seed;
    EXPECT_LT(elastic, 0.8 * to_target("--algorithm downpour:fetch=16,push=16 --rate 0.0015", seed)) << seed;
  }
  std::remove(rows.c_str());
}

TEST_F(SimulateTrain, RefusesWhatItCannotRead) {
  for (const std::string flags :
       {"--compute soon", "--straggler many", "--bandwidth fast", "--room nowhere", "--algorithm dpsgd:ring",
        "--exchange nowhere", "--algorithm async --exchange ring"}) {
    const Ran ran = run("simulate train " + rows_ + " " + flags);
    EXPECT_EQ(ran.code, 2) << flags << ran.err;
  }
}

}  // namespace
}  // namespace thalweg
