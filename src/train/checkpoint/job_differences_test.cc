#include "train/checkpoint/job_differences.h"

#include <gtest/gtest.h>

#include <string>

#include "train/train_spec.h"

namespace thalweg {
namespace {

std::string differences(const TrainSpec& there, const TrainSpec& here) {
  return job_differences(nlohmann::json::parse(to_text(there)), nlohmann::json::parse(to_text(here)));
}

TEST(JobDifferences, AreToldByFlags) {
  TrainSpec there;
  there.model.hidden = {8, 4};
  EXPECT_EQ(differences(there, there), "");
  nlohmann::json rounded = nlohmann::json::parse(to_text(there));
  there.model.weights.rate = 0.1f;
  rounded["model"]["weights"]["rate"] = 0.1;  // Which no float is.
  EXPECT_EQ(job_differences(rounded, nlohmann::json::parse(to_text(there))), "");
  TrainSpec here = there;
  here.train.paths = {"elsewhere.svm"};
  here.train.shuffle.order = RowOrder::kRows;
  here.train.shuffle.pool_bytes = 1 << 20;
  EXPECT_EQ(differences(there, here), "--shuffle is rows, there off");
  here.model.weights.kind = RuleKind::kAdam;
  here.model.bias_rate = 0.5f;
  here.model.hidden = {16, 2, 1};
  here.batch_rows = there.batch_rows + 1;
  EXPECT_EQ(differences(there, here).find("--hidden is 16, there 8; --optimizer is adam, there "), 0u)
      << differences(there, here);
  EXPECT_NE(differences(there, here).find("; --batch is "), std::string::npos);
  EXPECT_EQ(differences(there, here).find("bias-rate"), std::string::npos) << "it follows from the rate";
}

TEST(JobDifferences, NameTheModelThatATrainingBeginsWithFirst) {
  TrainSpec there, here;
  there.begins_with = "the model of digest 12";
  here.model.bias_rate = 0.5f;
  EXPECT_EQ(differences(there, here), "--init is nothing, there the model of digest 12");
  EXPECT_EQ(differences(here, there), "--init is the model of digest 12, there nothing");
  here = there;
  here.begins_with = "the weights of digest 12";
  EXPECT_EQ(differences(there, here), "--init is the weights of digest 12, there the model of digest 12");
}

TEST(JobDifferences, WhatNoFlagSaysIsToldByItsPlace) {
  TrainSpec there, here;
  here.valid.hash_bits = 3;
  EXPECT_EQ(differences(there, here), "valid.hash_bits is 3, there 0");
  here = there;
  here.valid.binary_labels = !here.valid.binary_labels;
  EXPECT_EQ(differences(there, here), "--valid differs");
  here.train.max_bad_rows = 5;
  EXPECT_EQ(differences(there, here), "--on-bad-row is skip:5, there fail");
  here = there;
  here.model.bias_rate = 0.5f;
  EXPECT_EQ(differences(there, here), "--bias-rate is 0.5, there null");
  here = there;
  here.train.part = Part::kTrain;
  here.train.part_modulus = 10;
  here.valid.binary_labels = !here.valid.binary_labels;
  EXPECT_EQ(differences(there, here), "--valid-part is 10, there 0");
}

}  // namespace
}  // namespace thalweg
