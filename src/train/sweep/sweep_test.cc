#include "train/sweep/sweep.h"

#include <fmt/format.h>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "train/trainer/trainer_for_test.h"

namespace thalweg {
namespace {

class Sweep : public TrainerTest {
 protected:
  // What the flags of a trial give by themselves.
  TrainResult alone(float rate, float l2) const {
    TrainerOptions one = options_;
    one.sweep.clear(), one.out.clear();
    one.rate = rate, one.l2 = l2;
    return run(one);
  }
};

TEST(SweepPoints, AreAllCombinations) {
  const auto points = sweep_points("rate=0.05,0.1;l2=1,10,1e2");
  ASSERT_TRUE(points.ok()) << points.status().message();
  ASSERT_EQ(points->size(), 6u);
  EXPECT_EQ(point_text((*points)[0]), "rate=0.05 l2=1");
  EXPECT_EQ(point_text((*points)[5]), "rate=0.1 l2=100");
}

TEST(SweepPoints, SayWhatTheyCannotBe) {
  for (const auto& [text, why] : {std::pair("speed=1", "expected NAME=VALUE"),
                                  {"rate", "expected NAME=VALUE"},
                                  {"rate=", "a number from 0"},
                                  {"rate=1,x", "saw \"x\""},
                                  {"rate=-1", "a number from 0"},
                                  {"rate=1;rate=2", "stands twice"},
                                  {"rate=0.5,1,0.50", "0.50 of rate stands twice"},
                                  {"rate=1;", "expected NAME=VALUE"}}) {
    const auto points = sweep_points(text);
    ASSERT_FALSE(points.ok()) << text;
    EXPECT_NE(points.status().message().find(why), std::string::npos) << points.status().message();
  }
  std::string many = "rate=1", more = "l2=1";
  for (int i = 2; i < 40; ++i) many += fmt::format(",{}", i), more += fmt::format(",{}", i);
  const auto refused = sweep_points(many + ";" + more);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.status().message().find("more than 1000 combinations"), std::string::npos);
}

TEST_F(Sweep, WhatAModelHasNoUseForIsRefused) {
  const auto why = [&](const char* model, RuleKind rule, const char* sweep) {
    options_.model = model, options_.optimizer = rule, options_.sweep = sweep;
    return refused(options_).message();
  };
  const auto npos = std::string::npos;
  EXPECT_NE(why("lr", RuleKind::kFtrl, "rate=1,2;factor-rate=1,2")
                .find("--sweep: factor-rate has no meaning with --model lr, which has no factors"),
            npos);
  EXPECT_NE(
      why("fm", RuleKind::kFtrl, "layer-rate=1,2").find("--sweep: layer-rate has no meaning with --model fm"),
      npos);
  EXPECT_NE(why("lr", RuleKind::kAdam, "l1=1,2").find("--optimizer adam has no such penalty"), npos);
  EXPECT_NE(why("lr", RuleKind::kFtrl, "rate=0,1").find("--sweep, rate=0: ftrl divides by it"), npos);
  EXPECT_NE(why("lr", RuleKind::kFtrl, "rate=1,0").find("--sweep, rate=0: ftrl divides"), npos);
  EXPECT_NE(why("lr", RuleKind::kFtrl, "l2=1;bias-rate=1,0").find("--sweep, bias-rate=0: ftrl divides"),
            npos);
}

TEST_F(Sweep, EachTrainingHasTheBitsOfOneByItselfAndTheBestIsSaved) {
  options_.sweep = "rate=0.001,0.1;l2=1,1000";
  const TrainResult all = run(options_);
  ASSERT_TRUE(all.status.ok()) << all.status.message();
  ASSERT_EQ(all.sweep.size(), 4u);
  std::size_t best = 0;
  for (std::size_t i = 0; i < all.sweep.size(); ++i) {
    const SweepTrial& trial = all.sweep[i];
    const TrainResult one = alone(trial.settings[0].value, trial.settings[1].value);
    EXPECT_EQ(trial.model_digest, one.model_digest) << i;
    EXPECT_EQ(trial.valid_loss, *one.valid_loss) << i;
    if (trial.valid_loss < all.sweep[best].valid_loss) best = i;
  }
  EXPECT_EQ(best, 2u);  // Else no later model was left out, or no earlier one replaced.
  for (std::size_t i = 0; i < all.sweep.size(); ++i) EXPECT_EQ(all.sweep[i].kept, i == best) << i;
  EXPECT_EQ(all.model_digest, all.sweep[best].model_digest);
  EXPECT_EQ(all.model, options_.out);
  double sum = 0;
  ASSERT_TRUE(predict_rows(options_.out, options_.files, [&](float p) { sum += p; }).ok());
  EXPECT_NEAR(sum / clicks_, 1, 0.1);
}

// The rows of all trainings come of one reading: what the file has become later matters to none.
TEST_F(Sweep, RowsAreReadOnce) {
  options_.sweep = "rate=0.05,0.1,0.2";
  options_.epochs = 1;
  const TrainResult expected = run(options_);
  ASSERT_TRUE(expected.status.ok()) << expected.status.message();
  std::uint32_t told = 0;
  const std::string changed = read_text(folder_ / "clicks.svm");
  options_.on_epoch = [&](const TrainEpoch&) {
    std::string text = changed;
    // Beyond the head that is looked at, so that only reading on would see it.
    for (std::size_t at = text.size() / 2; at < text.size(); ++at)
      text[at] = text[at] == '1' ? '7' : text[at];
    if (told++ == 0) (void)folder_.write("clicks.svm", text);
  };
  const TrainResult all = run(options_);
  ASSERT_TRUE(all.status.ok()) << all.status.message();
  EXPECT_EQ(told, 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(all.sweep[i].model_digest, expected.sweep[i].model_digest) << i;
    EXPECT_EQ(all.sweep[i].valid_loss, expected.sweep[i].valid_loss) << i;
  }
}

TEST_F(Sweep, FeaturesAreCountedOnce) {
  options_.sweep = "rate=0.05,0.1,0.2";
  options_.epochs = 1;
  const std::string log = folder_ / "log";
  options_.more.from_command = "echo run >> " + log + "; cat %s";
  std::vector<std::size_t> runs;
  for (const std::uint32_t least : {0u, 2u}) {
    (void)folder_.write("log", "");
    options_.min_count = least;
    const TrainResult all = run(options_);
    ASSERT_TRUE(all.status.ok()) << all.status.message();
    runs.push_back(read_text(log).size() / 4);
  }
  // Looked at and read once, where each training by itself would add as many; a command may end before it
  // has run.
  EXPECT_GT(runs[1], runs[0]);
  EXPECT_LT(runs[1], runs[0] + 4) << runs[0];
}

TEST_F(Sweep, RowsThatDoNotFitAreReadAgainWithTheSameBits) {
  options_.sweep = "rate=0.05,0.1";
  const TrainResult roomy = run(options_);
  options_.memory = 1 << 20;
  const TrainResult tight = run(options_);
  ASSERT_TRUE(tight.status.ok()) << tight.status.message();
  for (std::size_t i = 0; i < 2; ++i)
    EXPECT_EQ(tight.sweep[i].model_digest, roomy.sweep[i].model_digest) << i;
}

TEST_F(Sweep, ATrainingThatFailsIsToldAndTheOthersGoOn) {
  options_.optimizer = RuleKind::kSgd;
  options_.loss = Loss::kSquared;
  options_.sweep = "rate=1e30,1e-5";
  const TrainResult all = run(options_);
  ASSERT_TRUE(all.status.ok()) << all.status.message();
  EXPECT_EQ(all.sweep[0].status.code(), Code::kNonFinite);
  EXPECT_TRUE(std::isnan(all.sweep[0].valid_loss));
  EXPECT_TRUE(all.sweep[1].kept);
}

TEST_F(Sweep, AnEarlyEndKeepsTheBestSoFar) {
  options_.sweep = "rate=0.1,0.2,0.3";
  for (const std::uint32_t passes : {1u, 3u}) {  // Of two each.
    std::optional<Trainer> trainer;
    std::uint32_t told = 0;
    options_.on_epoch = [&](const TrainEpoch&) {
      if (++told == passes) trainer->close();
    };
    auto opened = Trainer::open(options_);
    ASSERT_TRUE(opened);
    trainer.emplace(std::move(opened).value());
    const TrainResult result = trainer->run();
    EXPECT_EQ(result.status.code(), Code::kAborted);
    EXPECT_LT(result.sweep.size(), 3u);
    const bool any = passes > 2 || (!result.sweep.empty() && result.sweep[0].kept);
    EXPECT_EQ(result.complete, any);
    EXPECT_EQ(result.model, any ? options_.out : "");
  }
}

TEST_F(Sweep, SaysWhereItMakesNoSense) {
  options_.sweep = "rate=0.1,0.2";
  TrainerOptions other = options_;
  other.valid_part = 0;
  EXPECT_NE(refused(other).message().find("--valid"), std::string::npos);
  other = options_;
  other.files = {"-"};
  EXPECT_NE(refused(other).message().find("standard input"), std::string::npos);
  other = options_;
  other.rate = 0.3f;
  EXPECT_EQ(refused(other).message(),
            "--rate 0.3 and --sweep 'rate=0.1,0.2' both set rate; expected one of the two");
  other.rate.reset();
  other.sweep = "batch=1,2";
  EXPECT_EQ(refused(other).code(), Code::kUsage);
  auto trainer = Trainer::open(options_);
  ASSERT_TRUE(trainer);
  EXPECT_EQ(trainer->run(TrainProcesses()).status.code(), Code::kUsage);
}

}  // namespace
}  // namespace thalweg
