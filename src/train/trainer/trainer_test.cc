#include "thalweg/trainer.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <thread>
#include <vector>

#include "base/rule_fields.h"
#include "model/format/model_dir.h"
#include "net/socket/reserved_port_for_test.h"
#include "net/system_disk.h"
#include "train/trainer/trainer_for_test.h"

namespace thalweg {
namespace {

TEST_F(TrainerTest, TrainsSavesAndPredicts) {
  std::vector<std::uint32_t> told;
  options_.on_epoch = [&](const TrainEpoch& epoch) { told.push_back(epoch.number); };
  const TrainResult result = run(options_);
  ASSERT_TRUE(result.status.ok()) << result.status.message();
  EXPECT_TRUE(result.complete);
  EXPECT_EQ(told, (std::vector<std::uint32_t>{1, 2}));
  ASSERT_EQ(result.epochs.size(), 2u);
  ASSERT_TRUE(result.epochs[1].held_out);
  EXPECT_EQ(result.epochs[1].held_out->rows, kRows / 10);
  EXPECT_GT(result.epochs[1].held_out->auc, 0.65);
  EXPECT_EQ(result.examples, 2 * (kRows - kRows / 10));
  EXPECT_EQ(result.model, options_.out);
  EXPECT_EQ(result.model_rows, 44u);
  EXPECT_NE(result.best_epoch, 0u);
  double sum = 0;
  std::uint32_t rows = 0;
  const Status predicted = predict_rows(result.model, options_.files, [&](float p) { sum += p, ++rows; });
  EXPECT_TRUE(predicted.ok()) << predicted.message();
  EXPECT_EQ(rows, kRows);
  EXPECT_NEAR(sum / clicks_, 1, 0.1);
}

TEST_F(TrainerTest, TheModelDoesNotDependOnTheCluster) {
  options_.out.clear();
  options_.threads = 1;
  const TrainResult one = run(options_);
  options_.threads = 3, options_.servers = 3, options_.workers = 4;
  const TrainResult other = run(options_);
  EXPECT_TRUE(one.complete && other.complete);
  EXPECT_EQ(one.model_digest, other.model_digest);
  EXPECT_EQ(one.epochs.back().held_out->auc, other.epochs.back().held_out->auc);
  EXPECT_EQ(one.model, "");
  options_.data_shards = 5;
  EXPECT_NE(run(options_).model_digest, one.model_digest);
}

TEST_F(TrainerTest, StartsNoProcessThatDoesNotKnowTheScheduler) {
  options_.servers = options_.workers = 1;
  const TrainProcesses strangers[] = {{{"--gtest_list_tests"}, {"--join", "{scheduler}"}},
                                      {{"--join", "{scheduler}"}, {"--gtest_list_tests"}}};
  for (const TrainProcesses& processes : strangers) {
    const Status status = Trainer::open(options_)->run(processes).status;
    EXPECT_EQ(status.code(), Code::kUsage);
    EXPECT_NE(status.message().find("\"{scheduler}\" among its 1 argument"), std::string::npos)
        << status.message();
  }
}

TEST_F(TrainerTest, RefusesTimesThatCannotBe) {
  const auto refused = [this](auto change) {
    TrainerOptions wanted = options_;
    change(wanted);
    return Trainer::open(wanted).status().message();
  };
  EXPECT_EQ(refused([](TrainerOptions& o) { o.timeout = std::chrono::seconds(-1); }),
            "--timeout -1 s; expected more than 0 and at most 315360000 s");
  EXPECT_EQ(refused([](TrainerOptions& o) { o.grace = std::chrono::seconds(-1); }),
            "--grace -1 s; expected more than 0 and at most 3600 s");
  EXPECT_NE(refused([](TrainerOptions& o) { o.silence = std::chrono::seconds(-1); }), "");
  EXPECT_NE(refused([](TrainerOptions& o) { o.checkpoint.every = std::chrono::seconds(-1); }), "");
  EXPECT_NE(refused([](TrainerOptions& o) { o.more.command_timeout = {}; }), "");
}

TEST_F(TrainerTest, SaysWhatItCost) {
  options_.out.clear();
  options_.batch = 80, options_.data_shards = 1;
  std::vector<TrainCosts> costs;
  options_.on_epoch = [&](const TrainEpoch& epoch) { costs.push_back(epoch.costs); };
  const TrainResult sync = run(options_);
  ASSERT_TRUE(sync.complete);
  EXPECT_EQ(sync.steps, 2 * 45u) << "3,600 rows by 80, twice";
  ASSERT_EQ(costs.size(), 2u);
  EXPECT_EQ(costs[0].steps, 45u);
  EXPECT_EQ(costs[1].steps, 90u);
  EXPECT_LE(costs[0].bytes_sent, costs[1].bytes_sent);
  EXPECT_GT(sync.bytes_sent, sync.pushed_bytes);
  EXPECT_EQ(sync.staleness_mean, 0);
  EXPECT_EQ(sync.staleness_p99, 0u);
  ASSERT_EQ(sync.led_pulls.size(), 1u);
  EXPECT_GE(sync.led_pulls[0].pulls, sync.steps) << "at least one of each step";
  EXPECT_GT(sync.idle_share, 0);
  EXPECT_LT(sync.idle_share, 1);
  EXPECT_GT(sync.exchange_seconds_exposed, 0);
  EXPECT_LT(sync.exchange_seconds_exposed, sync.seconds);
  EXPECT_GT(sync.samples_per_second, 0);
  ASSERT_TRUE(sync.valid_loss && sync.valid_accuracy);
  EXPECT_EQ(*sync.valid_loss, sync.epochs[1].held_out->logloss);
  EXPECT_GT(*sync.valid_accuracy, 0.5);
}

TEST_F(TrainerTest, HasTheLossOfSquaredErrorsToo) {
  options_.out.clear();
  options_.loss = Loss::kSquared;
  const TrainResult result = run(options_);
  ASSERT_TRUE(result.complete && result.valid_loss);
  const double rmse = result.epochs.back().held_out->rmse;
  EXPECT_NEAR(*result.valid_loss, rmse * rmse / 2, 1e-6);
  EXPECT_FALSE(result.valid_accuracy);
}

TEST_F(TrainerTest, NodesThatJoinTrainTheSameModel) {
  const TrainResult here = run(options_);
  auto trainer = Trainer::open(options_);
  ASSERT_TRUE(trainer);
  TrainNode node;
  node.node.scheduler = "127.0.0.1:" + std::to_string(port_for_this_test());
  std::vector<TrainNodeEnd> ends(2);
  TrainResult result;
  std::vector<std::thread> threads;
  threads.emplace_back([&] { ends[0] = run_train_server(node); });
  threads.emplace_back([&] { ends[1] = run_train_worker(node); });
  threads.emplace_back([&] { result = trainer->run(node.node); });
  for (std::thread& thread : threads) thread.join();
  for (const TrainNodeEnd& end : ends) EXPECT_TRUE(end.status.ok()) << end.status.message();
  EXPECT_NE(lines_.find("scheduler listens on " + node.node.scheduler), std::string::npos) << lines_;
  ASSERT_TRUE(here.complete);
  EXPECT_TRUE(result.status.ok()) << result.status.message();
  EXPECT_EQ(result.model_digest, here.model_digest);
  EXPECT_EQ(result.epochs.back().held_out->logloss, here.epochs.back().held_out->logloss);
  EXPECT_EQ(result.steps, here.steps);
  EXPECT_GT(result.bytes_sent, 2 * result.pushed_bytes) << "pushes by workers, rows by servers";
  EXPECT_GT(result.idle_share, 0);
}

TEST_F(TrainerTest, AModelOfCsvKnowsItsColumnsWithoutBeingTold) {
  options_.files = {csv_};
  options_.label_column = "click";
  options_.hash_bits = 20;
  const TrainResult result = run(options_);
  ASSERT_TRUE(result.status.ok()) << result.status.message();
  const std::string unlabelled = folder_.write("new.csv", "hour,ad\nh3,ad0\nh3,ad19\n");
  std::vector<float> predictions;
  const Status status = predict_rows(result.model, {unlabelled}, [&](float p) { predictions.push_back(p); });
  ASSERT_TRUE(status.ok()) << status.message();
  ASSERT_EQ(predictions.size(), 2u);
  EXPECT_LT(predictions[0] + 0.3f, predictions[1]);
}

TEST_F(TrainerTest, ChoosesWhatIsLeftOpenAndKeepsTheRest) {
  options_.rate = 0.5f;
  const auto trainer = Trainer::open(options_);
  ASSERT_TRUE(trainer);
  EXPECT_EQ(trainer->options().rate, 0.5f);
  EXPECT_EQ(trainer->options().optimizer, RuleKind::kFtrl);
  EXPECT_EQ(trainer->options().batch, 256u);
  EXPECT_EQ(trainer->options().files, options_.files);
}

TEST_F(TrainerTest, SavesWhatIsLearntWhenItIsClosed) {
  options_.epochs = 100000;
  Trainer* running = nullptr;
  options_.on_progress = [&](const TrainProgress& now) {
    EXPECT_EQ(now.missing, "");
    if (now.examples > 0) running->close();
  };
  auto trainer = Trainer::open(options_);
  ASSERT_TRUE(trainer);
  running = &*trainer;
  const TrainResult result = trainer->run();
  EXPECT_EQ(result.status.code(), Code::kAborted) << result.status.message();
  EXPECT_TRUE(result.complete);
  EXPECT_TRUE(std::filesystem::exists(folder_ / "model/model.json"));
  ASSERT_FALSE(result.epochs.empty());
  ASSERT_LT(result.epochs.size(), 100000u) << "passes that nobody began";
  std::uint64_t examples = 0;
  for (const TrainEpoch& epoch : result.epochs) {
    EXPECT_GT(epoch.examples, 0u) << epoch.number;
    examples += epoch.examples;
  }
  EXPECT_EQ(examples, result.examples);
}

TEST_F(TrainerTest, RefusesWhatCannotBeMeant) {
  const auto with = [this](auto change) {
    TrainerOptions options = options_;
    change(options);
    return refused(options);
  };
  EXPECT_EQ(with([](auto& o) { o.epochs = 0; }).message(), "--epochs 0; expected 1 to 1000000");
  EXPECT_EQ(with([](auto& o) { o.data_shards = 0; }).code(), Code::kUsage);
  EXPECT_EQ(with([](auto& o) { o.threads = 1025; }).message(), "--threads 1025; expected 0 to 1024");
  EXPECT_EQ(with([](auto& o) { o.format = "json"; }).code(), Code::kUsage);
  EXPECT_EQ(with([](auto& o) { o.valid = o.files[0]; }).code(), Code::kUsage);
  EXPECT_EQ(with([](auto& o) { o.model = "tree"; }).code(), Code::kUsage);
  EXPECT_EQ(with([](auto& o) { o.optimizer = RuleKind::kCustom; }).code(), Code::kUsage);
  EXPECT_EQ(with([](auto& o) { o.rate = std::nanf(""); }).code(), Code::kUsage);
  const Status missing = with([](auto& o) { o.files = {"/not/there.svm"}; });
  EXPECT_EQ(missing.code(), Code::kData);
  EXPECT_NE(missing.message().find("/not/there.svm"), std::string::npos) << missing.message();
}

// All between those that only set or add and the application's own, the last one too.
// It would be gone with the model that stood there, or keep the new one from its place.
TEST_F(TrainerTest, RefusesToKeepAnythingWhereTheModelGoes) {
  options_.out = folder_ / "model";
  for (const std::string place : {"model", "model/", "x/../model", "model/kept"}) {
    TrainerOptions kept = options_;
    kept.checkpoint.directory = folder_ / place;
    EXPECT_NE(refused(kept).message().find(" is within --out "), std::string::npos) << place;
    EXPECT_EQ(refused(kept).code(), Code::kUsage);
  }
  options_.checkpoint.directory = folder_ / "models";
  EXPECT_TRUE(Trainer::open(options_));
}

TEST_F(TrainerTest, TakesEveryRuleOfGradients) {
  for (std::size_t i = 0; i < kRuleNames.size(); ++i) {
    options_.optimizer = static_cast<RuleKind>(i);
    EXPECT_EQ(Trainer::open(options_).ok(), i >= 2 && i + 1 < kRuleNames.size()) << kRuleNames[i];
  }
}

TEST_F(TrainerTest, RunsOnceAndOnFilesThatItHas) {
  auto trainer = Trainer::open(options_);
  ASSERT_TRUE(trainer);
  EXPECT_TRUE(trainer->run().complete);
  EXPECT_EQ(trainer->run().status.code(), Code::kUsage);
  options_.files.clear();
  const TrainResult nothing = run(options_);
  EXPECT_EQ(nothing.status.code(), Code::kUsage);
  EXPECT_FALSE(nothing.complete);
  const Status status = predict_rows(folder_ / "none", options_.files, [](float) {});
  EXPECT_EQ(status.code(), Code::kModel) << status.message();
}

TEST_F(TrainerTest, FeaturesWithoutWeightMayBeLeftOutOfAModel) {
  options_.l1 = 6;
  const auto scores = [&] {
    std::vector<float> all;
    EXPECT_TRUE(predict_rows(options_.out, options_.files, [&](float p) { all.push_back(p); }).ok());
    return all;
  };
  const TrainResult whole = run(options_);
  const std::vector<float> expected = scores();
  std::uint64_t zeros = 0;
  ASSERT_TRUE(ModelReader::open(SystemDisk(), options_.out)
                  ->scan(1, false,
                         [&](const StoredRows& rows) {
                           zeros += static_cast<std::uint64_t>(
                               std::count(rows.rows.begin(), rows.rows.end(), 0.0f));
                           return ok_status();
                         })
                  .ok());
  ASSERT_GT(zeros, 0u);
  ASSERT_LT(zeros, whole.model_rows);
  options_.drop_zeros = true;
  const TrainResult sparse = run(options_);
  EXPECT_EQ(sparse.model_rows, whole.model_rows - zeros);
  EXPECT_EQ(scores(), expected);
  const auto model = ModelReader::open(SystemDisk(), options_.out);
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_EQ(model->manifest().tables[1].rows, sparse.model_rows);
  EXPECT_EQ(model->compute_digest().value(), sparse.model_digest);
  EXPECT_EQ(*sparse.valid_loss, *whole.valid_loss);
  options_.out.clear();
  EXPECT_EQ(run(options_).model_digest, sparse.model_digest) << "and if it is saved nowhere";
}

TEST_F(TrainerTest, AStateIsForASchedulerOnItsOwn) {
  TrainerOptions options = options_;
  options.state = folder_ / "state";
  const TrainResult here = run(options);
  EXPECT_EQ(here.status.code(), Code::kUsage);
  EXPECT_NE(here.status.message().find("--state is for a scheduler"), std::string::npos)
      << here.status.message();
}

}  // namespace
}  // namespace thalweg
