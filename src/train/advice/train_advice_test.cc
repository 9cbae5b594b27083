#include "train/advice/train_advice.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <fstream>

#include "base/temporary_folder_for_test.h"

namespace thalweg {
namespace {

// A row's share of positive labels whose entropy is that.
double share_of(double entropy) {
  double low = 0, high = 0.5;
  while (high - low > 1e-15) {
    const double p = (low + high) / 2;
    (-p * std::log(p) - (1 - p) * std::log(1 - p) < entropy ? low : high) = p;
  }
  return low;
}

// For logistic loss and squared loss alike.
Measured measured(double loss, double constant) {
  Measured rows;
  rows.sums = {.rows = 1'000'000, .weight = 1, .loss = loss, .square = loss * loss};
  rows.sums.label = share_of(constant);
  rows.sums.label_square = rows.sums.label * rows.sums.label + constant * constant;
  return rows;
}

EpochNumbers held_out(double loss, double constant) {
  EpochNumbers epoch;
  epoch.has_valid = true;
  epoch.valid = measured(loss, constant);
  return epoch;
}

EpochNumbers trained(double loss, double constant) {
  EpochNumbers epoch;
  epoch.sampled = measured(loss, constant);
  return epoch;
}

bool says(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(TrainAdvice, TellsOfAModelThatIsWorseThanNone) {
  for (const Loss loss : {Loss::kLogistic, Loss::kSquared}) {
    EXPECT_EQ(worse_than_none(loss, {held_out(0.5, 0.5)}), "");
    EXPECT_EQ(worse_than_none(loss, {held_out(0.6, 0.5), held_out(0.4, 0.5)}), "");
    for (const double worse : {0.501, 0.6, 1e38}) {
      const std::string text = worse_than_none(loss, {held_out(0.4, 0.5), held_out(worse, 0.5)});
      EXPECT_TRUE(says(text, fmt::format("of {:.5g} is worse than that of no features at all, 0.5;", worse)))
          << text;
    }
  }
  EXPECT_EQ(worse_than_none(Loss::kLogistic, {}), "");
}

TEST(TrainAdvice, TellsOfAnAucBelowThatOfNoFeatures) {
  EpochNumbers epoch = held_out(0.4, 0.5);
  epoch.valid.auc = 0.49;
  EXPECT_TRUE(says(worse_than_none(Loss::kLogistic, {epoch}),
                   "held-out auc of 0.49 is worse than that of no features"));
  EXPECT_EQ(worse_than_none(Loss::kSquared, {epoch}), "");
  epoch.valid.auc = 0.5;
  EXPECT_EQ(worse_than_none(Loss::kLogistic, {epoch}), "");
}

TEST(TrainAdvice, TellsItOfTheTrainingRowsWhereNoneAreHeldOut) {
  EXPECT_TRUE(says(worse_than_none(Loss::kLogistic, {trained(26, 0.5)}), "train logloss of 26 is worse"));
  EXPECT_TRUE(says(worse_than_none(Loss::kSquared, {trained(26, 0.5)}), "train rmse of 26 is worse"));
  EXPECT_EQ(worse_than_none(Loss::kLogistic, {trained(0.52, 0.5)}), "") << "its rows were new to it";
  EXPECT_TRUE(
      says(worse_than_none(Loss::kLogistic, {trained(0.52, 0.5), trained(0.52, 0.5)}), "of 0.52 is worse"));
}

TEST(TrainAdvice, FewTrainingRowsMayBeWorseByChance) {
  EpochNumbers some = trained(0.56, 0.5);
  some.sampled.auc = 0.45;
  some.sampled.sums.rows = 47;
  EXPECT_EQ(worse_than_none(Loss::kLogistic, {some, some}), "");
  EXPECT_EQ(worse_before_learnt(Loss::kLogistic, {some, some}, trained(0.45, 0.5).sampled), "")
      << "by the model they are not";
  some.sampled.sums.rows = 10'000;
  EXPECT_TRUE(says(worse_than_none(Loss::kLogistic, {some, some}), "of 0.56 is worse"));
  EXPECT_TRUE(says(worse_than_none(Loss::kLogistic, {some, some}), "train auc of 0.45 is worse"));
}

TEST(TrainAdvice, ComparesClassesAndBytesWithAllBeingAsLikely) {
  EpochNumbers held, learnt;
  held.has_valid = true;
  held.valid.sums = {.rows = 10'000, .weight = 10'000, .loss = 23'500};
  learnt.sampled = held.valid;
  for (const EpochNumbers& epoch : {held, learnt}) {
    const std::vector<EpochNumbers> two = {epoch, epoch};
    const JudgedBy ten(Loss::kClasses, 10), eleven(Loss::kClasses, 11);
    EXPECT_TRUE(says(worse_than_none(ten, two), "of 2.35 is worse than that of no features at all, 2.3026"));
    EXPECT_TRUE(says(worse_than_chance(ten, two), "of 2.35 is worse"));
    EXPECT_EQ(worse_than_none(eleven, two) + worse_than_chance(eleven, two), "");
    EXPECT_EQ(worse_than_none(Loss::kClasses, two), "") << "nobody knows of how many";
    EXPECT_EQ(worse_than_chance(Loss::kBytes, two), "");
  }
  ModelSpec of_user;
  of_user.loss = Loss::kClasses;
  of_user.classes = 10;
  EXPECT_NE(worse_than_chance(JudgedBy(of_user), {held}), "");
  of_user.script = "module.pt";
  EXPECT_EQ(worse_than_chance(JudgedBy(of_user), {held}), "") << "nobody knows what its loss is";
  held.valid.sums.loss = 56'500;
  EXPECT_TRUE(says(worse_than_chance(Loss::kBytes, {held}),
                   "nats_per_byte of 5.65 is worse than that of no "
                   "features at all, 5.5452"));
  EXPECT_TRUE(says(worse_than_none(Loss::kBytes, {held}), "5.5452; common causes: too high"));
  learnt.train = {.loss = 2.4e7, .weight = 10'000};
  EXPECT_TRUE(says(training_diverged({Loss::kClasses, 10}, {learnt}), "more than 1000 times the 2.303"));
  held.valid.sums = {.rows = 10};
  EXPECT_EQ(worse_than_chance({Loss::kClasses, 10}, {held}), "") << "its rows weigh nothing";
}

TEST(TrainAdvice, KnowsALossThatHasDiverged) {
  const auto of = [](Loss loss, EpochNumbers epoch) { return diverged(*on_trained_rows(loss, {epoch})); };
  EXPECT_TRUE(says(of(Loss::kLogistic, trained(1e38, 0.5)),
                   "train logloss of 1e+38 is more than 1000 times the 0.693"));
  EXPECT_EQ(of(Loss::kLogistic, trained(600, 0.5)), "");
  EXPECT_TRUE(says(of(Loss::kLogistic, trained(700, 0.5)), "diverged"));
  EXPECT_TRUE(says(of(Loss::kLogistic, trained(std::nan(""), 0.5)), "train logloss is not finite"));
  // Labels far from 0 have an untrained model far above the constant one.
  EpochNumbers far = trained(100000, 1);
  far.sampled.sums.label = 1000, far.sampled.sums.label_square = 1000 * 1000 + 1;
  EXPECT_EQ(of(Loss::kSquared, far), "");
  far.sampled.sums.label = 10, far.sampled.sums.label_square = 10 * 10 + 1;
  EXPECT_TRUE(says(of(Loss::kSquared, far), "train rmse of 1e+05 is more than 1000 times the 10.05 of"));
  EXPECT_FALSE(on_trained_rows(Loss::kLogistic, {held_out(0.5, 0.5)}).has_value());
}

// One row of many may be all that a sample lacks.
TEST(TrainAdvice, KnowsATrainingThatHasDivergedByAllRowsOfItsLastPass) {
  EpochNumbers bad = trained(0.4, 0.5), good = bad;
  bad.train = {1e20, 10, 10}, good.train = {4, 10, 10};
  EXPECT_TRUE(
      says(training_diverged(Loss::kLogistic, {good, bad}), "the train logloss of 1e+19 is more than 1000"));
  EXPECT_EQ(training_diverged(Loss::kLogistic, {bad, good}), "");
  EXPECT_TRUE(
      says(training_diverged(Loss::kSquared, {bad}), "the train rmse of 4.472e+09 is more than 1000"));
  bad.has_valid = true;
  bad.valid = held_out(0.4, 0.5).valid;
  EXPECT_EQ(training_diverged(Loss::kLogistic, {bad}), "") << "it has recovered";
  bad.valid.sums.loss = 1e5;
  EXPECT_TRUE(says(training_diverged(Loss::kLogistic, {bad}), "the train logloss of 1e+19"));
}

TEST(TrainAdvice, NamesTheCauseOfALossThatIsNotFinite) {
  const TemporaryFolder folder;
  const std::string path = folder / "cause.svm";
  const auto cause = [&](const std::string& rows, bool binary) {
    std::ofstream(path) << rows;
    ReadOptions options;
    options.paths = {path};
    options.binary_labels = binary;
    const auto data = DataSet::open(options);
    const Status said = with_cause({Code::kNonFinite, "not finite"}, data->get());
    std::remove(path.c_str());
    return said.message();
  };
  EXPECT_EQ(
      cause("# head\n1 3:1\n\n0 7:-2e30 8:5\n1 9:4\n", true),
      fmt::format(
          "not finite; the largest value is -2e+30, feature 7 at {}:4\nhint: scale feature 7 to values of "
          "about 1, or leave it out",
          path));
  EXPECT_EQ(
      cause("1 3:1\n0 7:1000\n", true),
      fmt::format("not finite; the largest value is 1000, feature 7 at {}:2\nhint: lower --rate", path));
  EXPECT_TRUE(says(cause("1e9 3:1\n0 7:1000\n", false), "the largest value is 1e+09, the label at"));
  const Status other(Code::kData, "other");
  EXPECT_EQ(with_cause(other, nullptr).message(), "other");
  EXPECT_TRUE(says(with_cause({Code::kNonFinite, "x"}, nullptr).message(), "hint: the workers"));
}

TEST(TrainAdvice, TellsAfterWhichPassAModelWasBetter) {
  const std::vector<EpochNumbers> over = {held_out(0.5, 0.6), held_out(0.4, 0.6), held_out(0.45, 0.6)};
  EXPECT_EQ(best_epoch(Loss::kLogistic, over), 1u);
  EXPECT_EQ(overfitted(Loss::kLogistic, over), "held-out logloss was lowest after epoch 2, at 0.40000");
  EXPECT_EQ(overfitted(Loss::kSquared, {held_out(0.4, 0.6), held_out(0.402, 0.6)}), "");
  EXPECT_EQ(best_epoch(Loss::kSquared, {trained(1, 2)}), std::nullopt);
  EXPECT_EQ(overfitted(Loss::kSquared, {trained(1, 2)}), "");
}

TEST(TrainAdvice, TellsWhyThereIsNoAuc) {
  Measured rows;
  rows.sums.rows = 2;
  rows.sums.weight = rows.sums.label = 2;
  EXPECT_EQ(one_label(Loss::kLogistic, rows),
            "all rows that the model was measured on have the label 1, so there is no AUC");
  EXPECT_EQ(one_label(Loss::kSquared, rows), "");
  rows.sums.label = 1;
  EXPECT_EQ(one_label(Loss::kLogistic, rows), "");
  rows.sums = {};
  EXPECT_EQ(one_label(Loss::kLogistic, rows), "");
  rows.sums.rows = 2;
  EXPECT_EQ(one_label(Loss::kSquared, rows),
            "all rows that the model was measured on weigh 0, so there is no measure of it");
}

}  // namespace
}  // namespace thalweg
