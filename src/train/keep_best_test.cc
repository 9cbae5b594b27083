// Which pass's model is kept, when training ends early, and what is not saved.
#include <gtest/gtest.h>

#include <fmt/format.h>
#include <algorithm>
#include <filesystem>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/cases_for_test.h"
#include "train/trainer/trainer_for_test.h"

namespace thalweg {
namespace {

// Few rows with an entry of their own each, which passes learn by heart.
class KeepBest : public TrainerTest {
 protected:
  KeepBest() {
    Random random(9);
    options_.files = {folder_.write("few.svm", rows(random, 600, 1))};
    options_.valid = folder_.write("valid.svm", rows(random, 2000, 1));
    options_.valid_part = 0;
    options_.epochs = 8;
    options_.rate = 0.5f;
    options_.l2 = 0.0f;
  }
  // `sign` -1: labels are the other way round.
  static std::string rows(Random& random, std::uint32_t count, int sign) {
    std::string text;
    for (std::uint32_t row = 0; row < count; ++row) {
      const auto a = static_cast<unsigned>(random.unit() * 10),
                 b = static_cast<unsigned>(random.unit() * 900);
      const double chance = 0.5 + sign * 0.05 * (static_cast<double>(a) - 4.5);
      text += fmt::format("{} {}:1 {}:1\n", random.chance(chance) ? 1 : 0, a, 100 + b);
    }
    return text;
  }
  // Rows that one step each learns, each scored badly before that: the model is saved, and a warning says so.
  void learn_at_once(const std::string& rows, Loss loss, std::uint32_t batch, double scored_above) {
    options_ = {};
    options_.files = {folder_.write("own.svm", rows)};
    options_.out = folder_ / "learnt";
    options_.loss = loss;
    options_.optimizer = RuleKind::kAdagrad;
    options_.rate = 3.0f;
    options_.data_shards = 1;
    options_.batch = batch;
    const TrainResult learnt = run(options_);
    EXPECT_TRUE(learnt.complete) << learnt.status.message();
    EXPECT_GT(learnt.train_loss, scored_above);
    EXPECT_EQ(learnt.not_kept, "");
    EXPECT_EQ(learnt.model, options_.out);
    ASSERT_EQ(learnt.warnings.size(), 1u);
    EXPECT_NE(learnt.warnings[0].find("before they were learnt"), std::string::npos) << learnt.warnings[0];
  }
  TrainerOptions with(std::uint32_t epochs, std::optional<bool> best) const {
    TrainerOptions options = options_;
    options.epochs = epochs;
    options.keep_best = best;
    return options;
  }
};

TEST_F(KeepBest, IsTheModelOfThatPassWhoeverTrains) {
  const TrainResult kept = run(options_);
  ASSERT_TRUE(kept.status.ok()) << kept.status.message();
  ASSERT_EQ(kept.epochs.size(), 8u);
  ASSERT_GT(kept.kept_epoch, 0u);
  ASSERT_LT(kept.kept_epoch, 8u) << "more passes do worse";
  EXPECT_EQ(kept.kept_epoch, kept.best_epoch);
  const TrainResult shorter = run(with(kept.kept_epoch, false));
  EXPECT_EQ(kept.model_digest, shorter.model_digest);
  EXPECT_EQ(kept.valid_loss, shorter.valid_loss);
  const TrainResult last = run(with(8, false));
  EXPECT_NE(kept.model_digest, last.model_digest);
  EXPECT_EQ(last.kept_epoch, 8u);
  EXPECT_GT(*last.valid_loss, *kept.valid_loss);
  options_.servers = 3, options_.workers = 2;
  EXPECT_EQ(run(options_).model_digest, kept.model_digest);
  std::size_t entries = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder_ / ""))
    entries += entry.path().filename().string().starts_with("model") ? 1 : 0;
  EXPECT_EQ(entries, 1u) << "models of other passes are gone";
}

TEST_F(KeepBest, PatienceEndsATrainingThatGetsNoBetter) {
  const TrainResult whole = run(options_);
  options_.patience = 2;
  options_.epochs = 100;
  const TrainResult ended = run(options_);
  ASSERT_TRUE(ended.status.ok()) << ended.status.message();
  EXPECT_EQ(ended.epochs.size(), whole.kept_epoch + 2u);
  EXPECT_EQ(ended.model_digest, whole.model_digest);
  options_.algorithm = "local:4";
  const TrainResult replicas = run(options_);
  ASSERT_TRUE(replicas.status.ok()) << replicas.status.message();
  EXPECT_EQ(replicas.epochs.size(), replicas.kept_epoch + 2u);
}

TEST_F(KeepBest, ATrainingIsToldToEndAfterAPass) {
  options_.keep_best = false;
  options_.on_progress = [](const TrainProgress&) {};
  std::map<std::string, std::set<std::uint64_t>> digests;
  for (const char* algorithm : {"sync", "local:4", "ssp:4"}) {
    for (const std::uint32_t threads : {1u, 3u}) {
      SCOPED_TRACE(fmt::format("{} on {} threads", algorithm, threads));
      TrainerOptions whole = options_;
      whole.algorithm = algorithm, whole.threads = threads, whole.epochs = 3;
      TrainerOptions told = whole;
      std::vector<std::uint32_t> heard;
      told.epochs = 1000;
      told.after_epoch = [&heard](const TrainEpoch& epoch) {
        heard.push_back(epoch.number);
        return epoch.number < 3;
      };
      const TrainResult expected = run(whole), ended = run(told);
      ASSERT_TRUE(ended.status.ok()) << ended.status.message();
      EXPECT_EQ(heard, (std::vector<std::uint32_t>{1, 2, 3}));
      EXPECT_EQ(ended.epochs.size(), 3u);
      EXPECT_EQ(ended.kept_epoch, 3u);
      EXPECT_EQ(ended.examples, expected.examples);
      digests[algorithm].insert(ended.model_digest);
      if (std::string(algorithm) == "sync") digests[algorithm].insert(expected.model_digest);
    }
  }
  EXPECT_EQ(digests["sync"].size(), 1u);
  EXPECT_EQ(digests["local:4"].size(), 1u);
}

TEST_F(KeepBest, EachPassIsToldBeforeTheNext) {
  for (const std::uint32_t epochs : {1u, 200u}) {
    TrainerOptions told = with(epochs, false);
    std::vector<std::uint32_t> heard, expected(epochs);
    std::iota(expected.begin(), expected.end(), 1u);
    told.after_epoch = [&](const TrainEpoch& epoch) {
      heard.push_back(epoch.number);
      return true;
    };
    const TrainResult all = run(told);
    EXPECT_EQ(heard, expected);
    EXPECT_EQ(all.model_digest, run(with(epochs, false)).model_digest);
  }
  options_.after_epoch = [](const TrainEpoch&) { return true; };
  options_.checkpoint.directory = folder_ / "kept";
  EXPECT_EQ(refused(options_).code(), Code::kUsage);
}

TEST_F(KeepBest, AModelThatIsWorseThanNoneIsNotSaved) {
  Random random(4);
  options_.valid = folder_.write("other.svm", rows(random, 2000, -1));
  const TrainResult bad = run(options_);
  EXPECT_TRUE(bad.complete);
  EXPECT_TRUE(bad.model.empty());
  EXPECT_NE(bad.not_kept.find("worse than that of no features"), std::string::npos) << bad.not_kept;
  EXPECT_NE(bad.not_kept.find("; common causes: "), std::string::npos) << bad.not_kept;
  EXPECT_TRUE(bad.warnings.empty()) << "it says that once";
  EXPECT_FALSE(std::filesystem::exists(options_.out));
  options_.keep_bad = true;
  const TrainResult kept = run(options_);
  ASSERT_EQ(kept.warnings.size(), 1u);
  EXPECT_EQ(kept.warnings[0], bad.not_kept);
  EXPECT_EQ(kept.model, options_.out);
  EXPECT_TRUE(kept.not_kept.empty());
}

TEST_F(KeepBest, AnEarlyEndSaysWhetherTheModelIsSaved) {
  Random random(4);
  // However many passes there are until it ends, the very rows that it learns are predicted well.
  const std::string good = options_.files.front(), other = folder_.write("other.svm", rows(random, 2000, -1));
  options_.epochs = 100'000;
  const std::optional<float> rate = options_.rate;
  for (const bool keep_bad : {false, true}) {
    for (const std::string& valid : {good, other}) {
      for (const char* sweep : {"", "rate=0.4,0.5"}) {
        std::optional<Trainer> trainer;
        options_.valid = valid, options_.keep_bad = keep_bad, options_.sweep = sweep;
        options_.rate = *sweep == 0 ? rate : std::nullopt;
        options_.on_epoch = [&](const TrainEpoch&) { trainer->close(); };
        auto opened = Trainer::open(options_);
        ASSERT_TRUE(opened) << opened.status().message();
        trainer.emplace(std::move(opened).value());
        const TrainResult result = trainer->run();
        const bool saved = keep_bad || valid == good;
        EXPECT_EQ(result.model, saved ? options_.out : "");
        EXPECT_EQ(result.status.code(), Code::kAborted);
        const std::string what = *sweep == 0 ? "what was learnt so far" : "the best model so far";
        const std::string said = saved ? fmt::format("interrupted; {} is saved", what)
                                       : fmt::format(
                                             "interrupted; {} is not saved: {}\nhint: --keep-bad "
                                             "saves it all the same",
                                             what, result.not_kept);
        EXPECT_EQ(result.status.message(), said);
      }
    }
  }
}

// Each row has a feature of its own, so that one step learns them all.
TEST_F(KeepBest, WithoutHeldOutRowsAModelIsJudgedByWhatItHasLearnt) {
  std::string text;
  for (int row = 0; row < 1000; ++row) text += fmt::format("{} {}:1\n", row % 20 == 0 ? 1 : 0, row);
  learn_at_once(text, Loss::kLogistic, 1000, 0.69);
  options_.rate = 1e-4f;
  const TrainResult bad = run(options_);
  EXPECT_EQ(bad.not_kept.find("the learnt rows' logloss of 0.69"), 0u) << bad.not_kept;
}

// Each row has a feature of its own, and each step has rows of another class than the one before.
TEST_F(KeepBest, WithoutHeldOutRowsAModelOfClassesIsJudgedByWhatItHasLearnt) {
  std::string text;
  for (int row = 0; row < 1000; ++row) text += fmt::format("{} {}:1\n", row / 50 % 3, row);
  learn_at_once(text, Loss::kClasses, 50, 1.5);
  options_.optimizer = RuleKind::kSgd;
  options_.rate = 1.0f;
  options_.out = folder_ / "bad";
  for (const std::uint32_t servers : {1u, 3u}) {
    options_.servers = servers;
    const TrainResult bad = run(options_);
    EXPECT_TRUE(bad.status.ok()) << bad.status.message();
    EXPECT_EQ(bad.not_kept.find("the learnt rows' logloss of "), 0u) << bad.not_kept;
    EXPECT_NE(bad.not_kept.find("no features at all, 1.0986"), std::string::npos) << bad.not_kept;
    EXPECT_FALSE(std::filesystem::exists(options_.out));
  }
  options_.keep_bad = true;
  EXPECT_EQ(run(options_).model, options_.out);
}

// Servers have optimizer state behind the rows that replicas show.
TEST_F(KeepBest, WithoutHeldOutRowsAMeanOfReplicasIsJudgedByItsWeights) {
  Random random(12);
  std::string text;
  for (int row = 0; row < 20000; ++row)
    text += fmt::format("{} {}:1\n", random.chance(row % 2 == 0 ? 0.5 : 0.1) ? 1 : 0, row % 2);
  options_ = {};
  options_.files = {folder_.write("own.svm", text)};
  options_.batch = 40, options_.data_shards = 2, options_.epochs = 2;
  for (const std::string algorithm : {"local:4", "fedavg"}) {
    options_.algorithm = algorithm;
    options_.out = folder_ / ("good-" + algorithm);
    options_.rate.reset(), options_.bias_rate.reset();
    EXPECT_EQ(run(options_).model, options_.out);
    options_.out = folder_ / ("bad-" + algorithm);
    options_.rate = options_.bias_rate = 1e-5f;
    const TrainResult bad = run(options_);
    EXPECT_EQ(bad.not_kept.find("the learnt rows' logloss of 0.69"), 0u) << bad.not_kept;
  }
}

// Replicas learn the rows, and the centre, which is the model, hardly follows them.
TEST_F(KeepBest, WithoutHeldOutRowsAModelOfReplicasIsJudgedByItself) {
  std::string text;
  for (int row = 0; row < 1000; ++row) text += fmt::format("{} {}:1\n", row % 20 == 0 ? 1 : 0, row % 20);
  options_ = {};
  options_.files = {folder_.write("own.svm", text)};
  options_.out = folder_ / "far";
  options_.algorithm = "easgd:tau=1000,rho=0.001";
  options_.rate = 0.5f, options_.batch = 40, options_.data_shards = 2, options_.epochs = 2;
  const TrainResult far = run(options_);
  ASSERT_TRUE(far.complete) << far.status.message();
  EXPECT_LT(far.train_loss, 0.1) << "by the replicas";
  EXPECT_EQ(far.not_kept.find("the learnt rows' logloss of 0.6"), 0u) << far.not_kept;
  EXPECT_FALSE(std::filesystem::exists(options_.out));
  options_.algorithm = "easgd:tau=1";
  const TrainResult near = run(options_);
  EXPECT_EQ(near.not_kept, "");
  EXPECT_EQ(near.model, options_.out);
  EXPECT_TRUE(near.warnings.empty()) << near.warnings[0];
}

TEST_F(KeepBest, RowsThatAllWeighNothingAreNamed) {
  std::string text;
  for (int row = 0; row < 100; ++row) text += fmt::format("{}:0 {}:1\n", row % 2, row % 7);
  options_ = {};
  options_.files = {folder_.write("none.svm", text)};
  options_.out = folder_ / "none";
  for (const Loss loss : {Loss::kLogistic, Loss::kClasses}) {
    options_.loss = loss;
    const TrainResult none = run(options_);
    EXPECT_EQ(none.not_kept, "all rows have the weight 0, so that nothing was learnt");
  }
}

TEST_F(KeepBest, HeldOutRowsThatTellNothingEndNoTraining) {
  std::string weightless;
  for (int row = 0; row < 100; ++row) weightless += fmt::format("{}:0 {}:1\n", row % 2, row % 7);
  options_.epochs = 4, options_.patience = 1;
  options_.out = folder_ / "model";
  for (const bool no_row : {false, true}) {
    options_.valid = no_row ? "" : folder_.write("weightless.svm", weightless);
    options_.valid_part = no_row ? 100'000 : 0;
    const TrainResult result = run(options_);
    EXPECT_TRUE(result.status.ok()) << result.status.message();
    EXPECT_EQ(result.model, options_.out);
    EXPECT_EQ(result.epochs.size(), 4u);
    EXPECT_FALSE(result.epochs.back().held_out);
    ASSERT_EQ(result.warnings.size(), 1u);
    EXPECT_NE(result.warnings[0].find(no_row ? "held out no row" : "held-out rows have the weight 0"),
              std::string::npos)
        << result.warnings[0];
  }
}

// Before a round's end each client has what its own rows have taught it, and none of that is the model.
TEST_F(KeepBest, PassesWithinARoundAreNotScored) {
  options_.algorithm = "fedavg:E=2";
  options_.data_shards = 3, options_.epochs = 5;
  const TrainResult rounds = run(options_);
  ASSERT_TRUE(rounds.complete) << rounds.status.message();
  ASSERT_EQ(rounds.epochs.size(), 5u);
  for (const std::uint32_t number : {1, 2, 3, 4, 5})
    EXPECT_EQ(rounds.epochs[number - 1].held_out.has_value(), number % 2 == 0 || number == 5) << number;
  options_.algorithm = "fedavg:E=5";
  const TrainResult whole = run(options_);
  EXPECT_EQ(whole.kept_epoch, 5u);
  EXPECT_EQ(whole.model_rows, rounds.model_rows) << "rows of all clients";
  options_.algorithm = "fedavg:E=3", options_.epochs = 60, options_.patience = 1;
  const TrainResult patient = run(options_);
  EXPECT_GT(patient.epochs.size(), 3u);
  EXPECT_LT(patient.epochs.size(), 60u);
  EXPECT_EQ(patient.epochs.size() % 3, 0u) << "a round was no better, rather than a pass";
  EXPECT_EQ(patient.kept_epoch, patient.epochs.size() - 3);
}

TEST_F(KeepBest, AJobThatIsToEndEndsItsRoundWithThePass) {
  options_.algorithm = "fedavg:E=1000";
  options_.data_shards = 3, options_.epochs = 1000;
  options_.after_epoch = [](const TrainEpoch& epoch) { return epoch.number < 2; };
  const TrainResult ended = run(options_);
  ASSERT_TRUE(ended.complete) << ended.status.message();
  EXPECT_LT(ended.examples, 10u * 600);
  options_.after_epoch = nullptr;
  options_.algorithm = "fedavg", options_.epochs = 1;
  EXPECT_EQ(ended.model_rows, run(options_).model_rows) << "of all clients";
}

class KeepBestOfCheckpoints : public KeepBest {
 protected:
  KeepBestOfCheckpoints() {
    Random random(10);
    const std::size_t many = 10'000 / kEveryForTest;  // Time for checkpoints in each pass.
    options_.valid = folder_.write("many.svm", rows(random, many, 1));
    options_.batch = 32;
    options_.rate = 0.8f;
    calm_ = run(options_);
    EXPECT_TRUE(calm_.status.ok()) << calm_.status.message();
    EXPECT_GT(calm_.kept_epoch, 1u);
    EXPECT_LT(calm_.kept_epoch, 7u) << "passes behind the best one";
    options_.checkpoint.directory = folder_ / "kept";
    options_.checkpoint.every_steps = 2;
  }
  TrainResult go_on(std::uint32_t epochs, const std::string& from = "auto") {
    TrainerOptions options = options_;
    options.epochs = epochs;
    options.checkpoint.resume = from;
    options.on_epoch = [this](const TrainEpoch& epoch) { told_.push_back(epoch.number); };
    return run(options);
  }
  std::vector<std::string> paths_of(const std::string& prefix) const {
    std::vector<std::string> paths;
    for (const auto& entry : std::filesystem::directory_iterator(options_.checkpoint.directory)) {
      if (entry.path().filename().string().starts_with(prefix)) paths.push_back(entry.path().string());
    }
    return paths;
  }
  void expect_as_calm(const TrainResult& got) const {
    ASSERT_TRUE(got.status.ok()) << got.status.message();
    EXPECT_EQ(got.model_digest, calm_.model_digest);
    EXPECT_EQ(got.kept_epoch, calm_.kept_epoch);
    EXPECT_EQ(got.best_epoch, calm_.best_epoch);
    EXPECT_EQ(got.valid_loss, calm_.valid_loss);
    ASSERT_EQ(got.epochs.size(), calm_.epochs.size());
    for (std::size_t e = 0; e < calm_.epochs.size(); ++e) {
      EXPECT_EQ(got.epochs[e].number, calm_.epochs[e].number);
      EXPECT_EQ(got.epochs[e].costs.steps, calm_.epochs[e].costs.steps);
      EXPECT_EQ(got.epochs[e].held_out->logloss, calm_.epochs[e].held_out->logloss);
      EXPECT_EQ(got.epochs[e].held_out->metrics, calm_.epochs[e].held_out->metrics);
    }
  }

  TrainResult calm_;  // That nobody has interrupted.
  std::vector<std::uint32_t> told_;
};

TEST_F(KeepBestOfCheckpoints, IsThatOfTheWholeTrainingFromEachOfThem) {
  options_.checkpoint.keep = 100;
  expect_as_calm(run(options_));
  const std::vector<std::string> kept = paths_of("step-");
  ASSERT_GE(kept.size(), 3u);
  EXPECT_LE(paths_of("best-").size(), calm_.kept_epoch);
  options_.checkpoint.directory.clear();
  options_.checkpoint.every_steps = 0;
  const std::size_t apart = (kept.size() + 7) / 8;  // There are the more of them the longer a pass takes.
  for (std::size_t at = 0; at < kept.size(); at += apart) {
    SCOPED_TRACE(kept[at]);
    expect_as_calm(go_on(8, kept[at]));
  }
  const std::string before = std::exchange(options_.checkpoint.directory, folder_ / "others");
  options_.checkpoint.every_steps = 2;
  std::string middle;
  for (const std::string& path : kept) {
    if (path < before + "/step-6") middle = std::max(middle, path);
  }
  EXPECT_TRUE(go_on(7, middle).status.ok());
  std::filesystem::remove_all(before);
  expect_as_calm(go_on(8));
  EXPECT_EQ(lines_.find("counts as the best"), std::string::npos) << lines_;
}

TEST_F(KeepBestOfCheckpoints, IsThatOfTheWholeTrainingHoweverOftenItGoesOn) {
  for (std::uint32_t epochs = 2; epochs < 8; ++epochs) {
    told_.clear();
    EXPECT_TRUE(go_on(epochs).status.ok());
    EXPECT_LE(paths_of("best-").size(), options_.checkpoint.keep + 1);
    for (std::size_t i = 0; i < told_.size(); ++i)
      EXPECT_EQ(told_[i], epochs - (told_.size() - 1 - i)) << "those that it has made";
  }
  expect_as_calm(go_on(8));
}

// Of whose pass nobody was told what is held out: there was nothing to choose.
TEST_F(KeepBestOfCheckpoints, OfASinglePassThereIsNone) {
  EXPECT_TRUE(go_on(1).status.ok());
  EXPECT_TRUE(paths_of("best-").empty());
  EXPECT_TRUE(go_on(5).status.ok());
  const TrainResult last = go_on(8);
  ASSERT_TRUE(last.status.ok()) << last.status.message();
  EXPECT_EQ(last.kept_epoch, calm_.kept_epoch);
  EXPECT_EQ(last.model_digest, calm_.model_digest);
}

TEST_F(KeepBestOfCheckpoints, PatienceCountsPassesBefore) {
  options_.patience = 2;
  TrainerOptions calm = options_;
  calm.checkpoint = {};
  calm.epochs = 100;
  calm_ = run(calm);
  EXPECT_TRUE(go_on(calm_.kept_epoch + 1).status.ok());
  expect_as_calm(go_on(100));
}

TEST_F(KeepBestOfCheckpoints, OneThatIsGoneIsSaid) {
  EXPECT_TRUE(go_on(60).status.ok());
  for (const std::string& path : paths_of("best-")) std::filesystem::remove_all(path);
  const TrainResult last = go_on(61);
  ASSERT_TRUE(last.status.ok()) << last.status.message();
  EXPECT_GT(last.kept_epoch, calm_.kept_epoch);
  EXPECT_NE(lines_.find(fmt::format("the best model so far, of epoch {}, is not in", calm_.kept_epoch)),
            std::string::npos)
      << lines_;
}

TEST_F(KeepBestOfCheckpoints, OnesOfATrainingThatBeginsAnewAreGone) {
  EXPECT_TRUE(go_on(4).status.ok());
  for (const std::string& path : paths_of("step-")) std::filesystem::remove_all(path);
  ASSERT_FALSE(paths_of("best-").empty());
  expect_as_calm(go_on(8));
}

TEST_F(KeepBest, WhatMakesNoSenseIsRefused) {
  options_.keep_best = true;
  options_.valid.clear();
  EXPECT_NE(refused(options_).message().find("--keep best needs held-out rows"), std::string::npos);
  options_.keep_best.reset();
  options_.patience = 1;
  EXPECT_NE(refused(options_).message().find("--patience goes with --keep best"), std::string::npos);
}

}  // namespace
}  // namespace thalweg
