#include "train/saved/pass_history.h"

#include <gtest/gtest.h>

#include <cmath>

namespace thalweg {
namespace {

EpochNumbers pass_of(double loss) {
  EpochNumbers pass;
  pass.train = {loss * 10, 10, 9};
  pass.rows = 9;
  pass.steps = 3;
  pass.has_valid = true;
  pass.valid.sums = {7, 6.5, loss, 0.1, 5, 1.0 / 3, 0.2, 0.3, 1e-300, -4};
  pass.valid.auc = 0.75;
  return pass;
}

TEST(PassHistory, HasAllNumbersThatPassesAreComparedBy) {
  const PassHistory history{2, {pass_of(0.1), pass_of(0.3), EpochNumbers()}};
  const PassHistory read = history_from_text(to_text(history));
  EXPECT_EQ(read.first, 2u);
  ASSERT_EQ(read.passes.size(), 3u);
  EXPECT_EQ(read.end(), 5u);
  const EpochNumbers &was = history.passes[1], &is = read.passes[1];
  EXPECT_EQ(is.train.loss, was.train.loss);
  EXPECT_EQ(is.train.weight, was.train.weight);
  EXPECT_EQ(is.train.rows, was.train.rows);
  EXPECT_EQ(is.rows, was.rows);
  EXPECT_EQ(is.steps, was.steps);
  EXPECT_EQ(is.steps_before, 3u);
  EXPECT_EQ(is.valid.sums.rows, was.valid.sums.rows);
  EXPECT_EQ(is.valid.sums.loss, was.valid.sums.loss);
  EXPECT_EQ(is.valid.sums.prediction, was.valid.sums.prediction);
  EXPECT_EQ(is.valid.sums.absolute, was.valid.sums.absolute);
  EXPECT_EQ(is.valid.sums.label_log, was.valid.sums.label_log);
  EXPECT_EQ(is.valid.auc, 0.75);
  EXPECT_TRUE(std::isnan(is.valid.average_precision));
  EXPECT_FALSE(read.passes[2].has_valid);
}

TEST(PassHistory, OfWhatCannotBeReadThereIsNone) {
  for (const char* text :
       {"", "[]", "{}", "{\"first_pass\":0}", "{\"first_pass\":0,\"passes\":[{}]}", "\xff"})
    EXPECT_TRUE(history_from_text(text).passes.empty()) << text;
}

}  // namespace
}  // namespace thalweg
