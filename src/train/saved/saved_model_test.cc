#include "thalweg/saved_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "data/memory/matrix_rows.h"
#include "train/trainer/trainer_for_test.h"

namespace thalweg {
namespace {

// Clicks follow the first of two columns.
class SavedModelTest : public TrainerTest {
 protected:
  SavedModelTest() : labels_(kRows) {
    Random random(5);
    for (std::uint32_t r = 0; r < kRows; ++r) {
      const auto x = static_cast<float>(random.unit() * 4 - 2);
      values_.push_back(x);
      values_.push_back(1);
      labels_[r] = random.chance(1 / (1 + std::exp(-3 * x))) ? 1.0f : 0.0f;
    }
    const DenseMatrix matrix{.rows = kRows,
                             .columns = 2,
                             .values = values_.data(),
                             .row_bytes = 2 * sizeof(float),
                             .column_bytes = sizeof(float)};
    options_.files = {"rows"};
    options_.more.rows = {{"rows", *dense_rows(matrix, {.labels = labels_}, nullptr)}};
  }

  std::vector<float> scores(const SavedModel& model, SavedModel::Answer answer) const {
    std::vector<float> all;
    const Status status = model.score({"rows"}, options_.more, answer, [&](std::span<const float> some) {
      all.insert(all.end(), some.begin(), some.end());
      return true;
    });
    EXPECT_TRUE(status.ok()) << status.message();
    return all;
  }

  std::vector<float> values_, labels_;
};

TEST_F(SavedModelTest, ScoresRowsInMemoryByItsWeights) {
  const TrainResult result = run(options_);
  ASSERT_TRUE(result.complete) << result.status.message();
  EXPECT_EQ(result.examples, 2 * (kRows - kRows / 10));
  EXPECT_GT(result.epochs[1].held_out->auc, 0.85);
  const auto model = SavedModel::load(result.model);
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_EQ(model->model(), "lr");
  EXPECT_EQ(model->digest(), result.model_digest);
  const auto raw = scores(*model, SavedModel::Answer::kScore);
  const auto predicted = scores(*model, SavedModel::Answer::kPrediction);
  ASSERT_EQ(raw.size(), kRows);
  EXPECT_NEAR(predicted[7], 1 / (1 + std::exp(-raw[7])), 1e-6);
  std::map<std::string, std::map<Key, float>> weights;
  const auto tables = model->tables();
  for (std::size_t t = 0; t < tables.size(); ++t) {
    const Status status = model->weights(t, [&](std::span<const Key> keys, std::span<const float> rows) {
      for (std::size_t i = 0; i < keys.size(); ++i) weights[tables[t].name][keys[i]] = rows[i];
    });
    ASSERT_TRUE(status.ok()) << status.message();
  }
  const auto& w = weights["weights"];
  EXPECT_NEAR(raw[7], weights["bias"][0] + w.at(0) * values_[14] + w.at(1), 1e-5);
}

TEST_F(SavedModelTest, BitsOfRowsInMemoryDoNotDependOnTheCluster) {
  options_.out.clear();
  options_.threads = 1;
  const std::uint64_t digest = run(options_).model_digest;
  options_.threads = 3, options_.servers = 2, options_.workers = 4;
  EXPECT_EQ(run(options_).model_digest, digest);
  EXPECT_NE(digest, 0u);
}

TEST_F(SavedModelTest, ModelsOfClassesAnswerForEachClass) {
  EXPECT_EQ(SavedModel::load(run(options_).model)->classes(), 0u);
  options_.loss = Loss::kClasses;
  const auto model = SavedModel::load(run(options_).model);
  ASSERT_TRUE(model.ok()) << model.status().message();
  ASSERT_EQ(model->classes(), 2u);
  const auto raw = scores(*model, SavedModel::Answer::kClassScore);
  const auto chances = scores(*model, SavedModel::Answer::kClassProbability);
  const auto predicted = scores(*model, SavedModel::Answer::kPrediction);
  ASSERT_EQ(raw.size(), 2 * kRows);
  ASSERT_EQ(chances.size(), 2 * kRows);
  for (std::size_t row = 0; row < kRows; ++row) {
    EXPECT_EQ(predicted[row], raw[2 * row + 1] > raw[2 * row] ? 1.0f : 0.0f) << row;
    EXPECT_NEAR(chances[2 * row + 1], 1 / (1 + std::exp(raw[2 * row] - raw[2 * row + 1])), 1e-6) << row;
    EXPECT_NEAR(chances[2 * row] + chances[2 * row + 1], 1, 1e-6) << row;
  }
}

TEST_F(SavedModelTest, OneOfNoClassesRefusesThem) {
  const auto model = SavedModel::load(run(options_).model);
  const Status status = model->score({"rows"}, options_.more, SavedModel::Answer::kClassScore,
                                     [](std::span<const float>) { return true; });
  EXPECT_EQ(status.code(), Code::kUsage);
}

TEST_F(SavedModelTest, AnswersBadRowsInTheirPlaceWhereItMay) {
  const auto model = SavedModel::load(run(options_).model);
  values_[2 * 7] = std::numeric_limits<float>::quiet_NaN();
  values_[2 * 9] = std::numeric_limits<float>::infinity();
  std::vector<float> all;
  const auto scored = [&](std::uint64_t on_bad_row) {
    all.clear();
    return model->score(
        {"rows"}, options_.more, SavedModel::Answer::kPrediction,
        [&](std::span<const float> some) {
          all.insert(all.end(), some.begin(), some.end());
          return true;
        },
        on_bad_row);
  };
  EXPECT_TRUE(scored(2).ok());
  ASSERT_EQ(all.size(), kRows);
  EXPECT_TRUE(std::isnan(all[7]) && std::isnan(all[9]));
  EXPECT_EQ(std::count_if(all.begin(), all.end(), [](float answer) { return std::isnan(answer); }), 2);
  EXPECT_EQ(scored(1).code(), Code::kData);
  EXPECT_EQ(scored(0).code(), Code::kData);
}

TEST_F(SavedModelTest, StopsWhereItIsAsked) {
  const TrainResult result = run(options_);
  const auto model = SavedModel::load(result.model);
  int calls = 0;
  const Status status =
      model->score({"rows"}, options_.more, SavedModel::Answer::kScore, [&](std::span<const float>) {
        ++calls;
        return false;
      });
  EXPECT_EQ(status.code(), Code::kAborted);
  EXPECT_EQ(calls, 1);
}

TEST_F(SavedModelTest, OtherProcessesHaveNoRowsOfThisOne) {
  auto trainer = Trainer::open(options_);
  ASSERT_TRUE(trainer.ok());
  const TrainResult result = trainer->run(TrainProcesses{{"server"}, {"worker"}});
  EXPECT_EQ(result.status.code(), Code::kUsage);
  EXPECT_EQ(result.status.message(),
            "rows: rows in memory are for one process; give files, or leave --processes out");
}

TEST_F(SavedModelTest, WhatIsNoModelIsRefused) {
  EXPECT_EQ(SavedModel::load(folder_ / "nothing").status().code(), Code::kModel);
}

}  // namespace
}  // namespace thalweg
