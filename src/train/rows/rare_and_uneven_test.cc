// Rare features are left out, and rows of one label may count more than others, whoever trains.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <cmath>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "model/format/model_dir.h"
#include "net/system_disk.h"
#include "train/trainer/trainer_for_test.h"

namespace thalweg {
namespace {

class RareFeatures : public TrainerTest {
 protected:
  // Each row has an ad, an hour and a user; users come up about twice.
  RareFeatures() {
    Random random(31);
    std::string text;
    for (std::uint32_t row = 0; row < kRows; ++row) {
      const auto ad = static_cast<unsigned>(random.unit() * 20),
                 user = static_cast<unsigned>(random.unit() * 2000);
      text += fmt::format("{} {}:1 {}:1\n", random.chance(0.1 + 0.04 * ad) ? 1 : 0, ad, 10000 + user);
      if (row % 10 != 9) ++times_[10000 + user];
    }
    options_.files = {folder_.write("users.svm", text)};
  }
  std::set<Key> keys_of(const TrainResult& trained) {
    const SystemDisk disk;
    const auto model = ModelReader::open(disk, trained.model);
    EXPECT_TRUE(model.ok()) << model.status().message();
    std::set<Key> keys;
    EXPECT_TRUE(model
                    ->scan(1, false,
                           [&](const StoredRows& rows) {
                             keys.insert(rows.keys.begin(), rows.keys.end());
                             return ok_status();
                           })
                    .ok());
    return keys;
  }
  std::map<Key, std::uint32_t> times_;  // In the rows that are learnt from.
};

TEST_F(RareFeatures, HaveNoWeightAndOthersAreLearnt) {
  const TrainResult all = run(options_);
  options_.min_count = 3;
  const TrainResult some = run(options_);
  ASSERT_TRUE(all.complete && some.complete) << some.status.message();
  const std::set<Key> keys = keys_of(some);
  std::size_t rare = 0;
  for (const auto& [key, times] : times_) {
    EXPECT_EQ(keys.contains(key), times >= 3) << key << " " << times;
    rare += times < 3 ? 1 : 0;
  }
  EXPECT_GT(rare, 100u);
  for (Key ad = 0; ad < 20; ++ad) EXPECT_TRUE(keys.contains(ad));
  EXPECT_EQ(some.model_rows + rare, all.model_rows);
  EXPECT_EQ(some.examples, all.examples);
  EXPECT_GT(some.epochs.back().held_out->auc, all.epochs.back().held_out->auc - 0.01);
}

TEST_F(RareFeatures, AreTheSameWhoeverTrains) {
  options_.min_count = 3;
  options_.servers = 1, options_.workers = 1, options_.threads = 1;
  const TrainResult one = run(options_);
  options_.servers = 3, options_.workers = 4, options_.threads = 3;
  EXPECT_EQ(run(options_).model_digest, one.model_digest);
  options_.shuffle = RowOrder::kRows;
  const TrainResult shuffled = run(options_);
  EXPECT_NE(shuffled.model_digest, one.model_digest);
  EXPECT_EQ(shuffled.model_rows, one.model_rows);
  options_.workers = 1, options_.servers = 2;
  EXPECT_EQ(run(options_).model_digest, shuffled.model_digest);
}

TEST_F(RareFeatures, OfFactorsAreLeftOutOfHeldOutRowsToo) {
  options_.model = "fm";
  options_.min_count = 3;
  const TrainResult trained = run(options_);
  ASSERT_TRUE(trained.complete) << trained.status.message();
  double loss = 0;
  std::size_t row = 0, held_out = 0;
  std::vector<float> scores;
  ASSERT_TRUE(predict_rows(trained.model, options_.files, [&](float p) { scores.push_back(p); }).ok());
  std::ifstream in(options_.files.front());
  for (std::string line; std::getline(in, line); ++row) {
    if (row % 10 != 9) continue;
    loss -= std::log(line[0] == '1' ? scores[row] : 1 - scores[row]);
    ++held_out;
  }
  EXPECT_NEAR(loss / static_cast<double>(held_out), *trained.valid_loss, 1e-5)
      << "figures of a training are those of its model";
}

TEST_F(RareFeatures, WhatCannotBeMeantIsRefused) {
  options_.min_count = 256;
  EXPECT_NE(refused(options_).message().find("--min-count 256; expected up to 255"), std::string::npos);
}

// One row in twelve is a click.
class UnevenLabels : public TrainerTest {
 protected:
  UnevenLabels() {
    Random random(37);
    std::string text;
    clicks_ = 0;
    for (std::uint32_t row = 0; row < kUnevenRows; ++row) {
      const auto ad = static_cast<unsigned>(random.unit() * 20),
                 hour = static_cast<unsigned>(random.unit() * 24);
      const bool click = random.chance(0.01 + 0.007 * ad);
      clicks_ += click;
      text += fmt::format("{} {}:1 {}:1\n", click ? 1 : 0, ad, 100 + hour);
    }
    options_.files = {folder_.write("uneven.svm", text)};
    options_.epochs = 6;
    options_.batch = 512;
    options_.bias_rate = 0.2f;
    options_.shuffle = RowOrder::kRows;
    options_.keep_best = false;
  }
  static constexpr std::uint32_t kUnevenRows = 40000;
  static const HeldOutNumbers& held_out(const TrainResult& result) { return *result.epochs.back().held_out; }
};

TEST_F(UnevenLabels, PredictionsStayCalibrated) {
  const TrainResult all = run(options_);
  ASSERT_TRUE(all.complete) << all.status.message();
  struct Case {
    float weight, sample;
    const char* model;
  };
  for (const Case& c : {Case{10, 1, "lr"}, {1, 0.2f, "lr"}, {5, 0.5f, "lr"}, {10, 0.2f, "fm"}}) {
    options_.pos_weight = c.weight, options_.negative_sample = c.sample, options_.model = c.model;
    const TrainResult balanced = run(options_);
    ASSERT_TRUE(balanced.complete) << balanced.status.message();
    const double mean_label = static_cast<double>(clicks_) / kUnevenRows;
    const std::string what = fmt::format("{} {} {}", c.weight, c.sample, c.model);
    EXPECT_NEAR(held_out(balanced).calibration, held_out(all).calibration, 0.12) << what;
    EXPECT_NEAR(held_out(balanced).logloss, held_out(all).logloss, 0.01) << what;
    EXPECT_NEAR(held_out(balanced).auc, held_out(all).auc, 0.03) << what;
    EXPECT_EQ(balanced.examples < all.examples / 2, c.sample < 0.4f) << what;
    double sum = 0;
    std::uint32_t rows = 0;
    ASSERT_TRUE(predict_rows(balanced.model, options_.files, [&](float p) {
                  sum += p;
                  ++rows;
                }).ok());
    EXPECT_NEAR(sum / rows / mean_label, 1, 0.12) << "a saved model says so too: " << what;
    TrainerOptions next = options_;
    next.init = balanced.model;
    next.out = folder_ / "next";
    next.pos_weight = next.negative_sample = 1;
    next.model = "";
    next.epochs = 1;
    const TrainResult gone_on = run(next);
    ASSERT_TRUE(gone_on.complete) << gone_on.status.message();
    EXPECT_NEAR(held_out(gone_on).calibration, held_out(all).calibration, 0.12) << what;
  }
}

// Of so few rows a bias that begins at 0 does not unlearn the shift.
TEST_F(UnevenLabels, PredictionsOfFewRowsAreCalibratedToo) {
  options_.valid = options_.files.front();
  options_.valid_part = 0;
  options_.bias_rate.reset();
  options_.shuffle = RowOrder::kFiles;
  options_.epochs = 1;
  std::string text = read_text(options_.files.front());
  text.resize(text.find('\n', 10000) + 1);
  options_.files = {folder_.write("few.svm", text)};
  for (const RuleKind rule : {RuleKind::kFtrl, RuleKind::kAdagrad}) {
    for (const float sample : {0.5f, 0.1f, 0.02f}) {
      for (const char* const model : {"lr", "fm"}) {
        options_.optimizer = rule, options_.negative_sample = sample, options_.model = model;
        options_.keep_bad = true;
        const TrainResult few = run(options_);
        ASSERT_TRUE(few.complete) << few.status.message();
        const std::string what = fmt::format("{} {} {}", static_cast<int>(rule), sample, model);
        EXPECT_LT(held_out(few).logloss, 0.27) << what;
        EXPECT_NEAR(held_out(few).calibration, 1, 0.2) << what;
      }
    }
  }
}

TEST_F(UnevenLabels, TheSampleIsTheSameWhoeverTrains) {
  options_.negative_sample = 0.3f;
  options_.pos_weight = 2;
  options_.servers = 1, options_.workers = 1, options_.threads = 1;
  const TrainResult one = run(options_);
  options_.servers = 3, options_.workers = 4, options_.threads = 3;
  EXPECT_EQ(run(options_).model_digest, one.model_digest);
  options_.seed = 2;
  EXPECT_NE(run(options_).model_digest, one.model_digest);
}

TEST_F(UnevenLabels, EachRowIsReportedWhereOnlySomeHaveWeights) {
  std::string text;
  for (const char* const row : {"0 1:1 7:1\n", "1 2:1 7:1\n"}) {
    for (std::uint32_t i = 0; i < 6000; ++i) text += row;
  }
  options_.files = {folder_.write("sorted.svm", text)};
  options_.valid_part = 0;
  options_.epochs = 2;
  options_.pos_weight = 3;
  const TrainResult trained = run(options_);
  ASSERT_TRUE(trained.complete) << trained.status.message();
  for (const TrainEpoch& epoch : trained.epochs) EXPECT_EQ(epoch.examples, 12000u);
  EXPECT_EQ(trained.examples, 24000u);
}

TEST_F(UnevenLabels, WhatMakesNoSenseIsRefused) {
  options_.negative_sample = 0;
  EXPECT_NE(refused(options_).message().find("--negative-sample 0; expected a part above 0"),
            std::string::npos);
  options_.negative_sample = 1, options_.pos_weight = -1;
  EXPECT_NE(refused(options_).message().find("--pos-weight -1; expected a number above 0"),
            std::string::npos);
  options_.pos_weight = 2, options_.loss = Loss::kSquared;
  EXPECT_NE(refused(options_).message().find("balance labels of 0 and 1"), std::string::npos);
}

}  // namespace
}  // namespace thalweg
