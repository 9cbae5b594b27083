#include "cli/train_advice.h"

#include <gtest/gtest.h>

namespace thalweg {
namespace {

EpochNumbers held_out(double loss, double no_model) {
  EpochNumbers epoch;
  epoch.has_valid = true;
  epoch.valid.logloss = epoch.valid.rmse = loss;
  epoch.valid.no_model = no_model;
  return epoch;
}

EpochNumbers trained(double loss) {
  EpochNumbers epoch;
  epoch.train.loss = loss * 10;
  epoch.train.weight = 10;
  return epoch;
}

TEST(TrainAdvice, TellsOfAModelThatIsWorseThanNone) {
  for (const Loss loss : {Loss::kLogistic, Loss::kSquared}) {
    EXPECT_EQ(worse_than_none(loss, {held_out(0.52, 0.5)}), "");
    EXPECT_NE(worse_than_none(loss, {held_out(0.6, 0.5)})
                  .find("of 0.6 is worse than that of no features at all, 0.5"),
              std::string::npos);
  }
  EXPECT_NE(worse_than_none(Loss::kLogistic, {trained(26)}).find("train logloss of 26 is worse"),
            std::string::npos);
  EXPECT_EQ(worse_than_none(Loss::kLogistic, {trained(0.7)}), "");
  EXPECT_EQ(worse_than_none(Loss::kSquared, {trained(26)}), "");
  EXPECT_EQ(worse_than_none(Loss::kLogistic, {}), "");
}

TEST(TrainAdvice, TellsAfterWhichPassAModelWasBetter) {
  const std::vector<EpochNumbers> over = {held_out(0.5, 0.6), held_out(0.4, 0.6), held_out(0.45, 0.6)};
  EXPECT_EQ(best_epoch(Loss::kLogistic, over), 1u);
  EXPECT_EQ(overfitted(Loss::kLogistic, over), "held-out logloss was lowest after epoch 2, at 0.40000");
  EXPECT_EQ(overfitted(Loss::kSquared, {held_out(0.4, 0.6), held_out(0.402, 0.6)}), "");
  EXPECT_EQ(best_epoch(Loss::kSquared, {trained(1)}), std::nullopt);
  EXPECT_EQ(overfitted(Loss::kSquared, {trained(1)}), "");
}

TEST(TrainAdvice, TellsWhyThereIsNoAuc) {
  MetricValues values;
  values.mean_label = 1;
  EXPECT_EQ(one_label(Loss::kLogistic, values),
            "all rows that the model was measured on have the label 1, so there is no AUC");
  EXPECT_EQ(one_label(Loss::kSquared, values), "");
  values.mean_label = 0.5;
  EXPECT_EQ(one_label(Loss::kLogistic, values), "");
}

}  // namespace
}  // namespace thalweg
