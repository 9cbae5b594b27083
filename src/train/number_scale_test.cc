// Numbers of any size: held-out figures do not depend on a column's unit.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <cmath>
#include <string>
#include <vector>

#include "thalweg/saved_model.h"
#include "train/trainer/trainer_for_test.h"

namespace thalweg {
namespace {

class NumberScale : public TrainerTest {
 protected:
  // A price in units of 1 / times, written in as many letters whatever the unit, and an age.
  std::string prices(double times, int decimals) {
    Random random(11);
    std::string text = "price,age,click\n";
    for (std::uint32_t row = 0; row < kRows; ++row) {
      const double price = 1 + 999 * random.unit() * random.unit();
      const double age = 18 + 60 * random.unit();
      const double score = 0.004 * price - 0.05 * (age - 40) - 1;
      const bool click = random.chance(1 / (1 + std::exp(-score)));
      text += fmt::format("{:017.{}f},{:.1f},{}\n", price * times, decimals, age, click ? 1 : 0);
    }
    return folder_.write(fmt::format("price{}.csv", decimals), text);
  }

  // By each rule, the rows of both files lead to the same held-out figures.
  void expect_alike(const std::string& ones, const std::string& millions,
                    const std::vector<RuleKind>& rules) {
    options_.epochs = 2;
    for (const RuleKind rule : rules) {
      options_.optimizer = rule;
      options_.files = {ones};
      const TrainResult one = run(options_);
      options_.files = {millions};
      const TrainResult million = run(options_);
      ASSERT_TRUE(one.complete && million.complete) << one.status.message() << million.status.message();
      const HeldOutNumbers &a = *one.epochs.back().held_out, &b = *million.epochs.back().held_out;
      EXPECT_GT(a.auc, 0.6) << static_cast<int>(rule);
      EXPECT_NEAR(a.auc, b.auc, 0.001) << static_cast<int>(rule);
      EXPECT_NEAR(a.logloss, b.logloss, 0.001) << static_cast<int>(rule);
    }
  }
};

TEST_F(NumberScale, AColumnTimesAMillionLeavesHeldOutFigures) {
  expect_alike(prices(1, 8), prices(1e6, 2),
               {RuleKind::kFtrl, RuleKind::kSgd, RuleKind::kAdagrad, RuleKind::kAdam, RuleKind::kMomentum,
                RuleKind::kRmsprop});
}

TEST_F(NumberScale, AModelKnowsItsScales) {
  options_.files = {prices(1e6, 2)};
  const TrainResult trained = run(options_);
  ASSERT_TRUE(trained.status.ok()) << trained.status.message();
  EXPECT_NE(lines_.find("price:num-"), std::string::npos) << lines_;
  double sum = 0;
  std::uint32_t rows = 0;
  ASSERT_TRUE(predict_rows(trained.model, options_.files, [&](float p) {
                sum += p;
                ++rows;
              }).ok());
  EXPECT_EQ(rows, kRows);
  EXPECT_NEAR(sum / rows, 0.35, 0.25);
  const std::string one_row = folder_.write("one.csv", "price,age\n500000000,30\n");
  const std::string other_unit = folder_.write("other.csv", "price,age\n500,30\n");
  std::vector<float> scores;
  const auto keep = [&](float p) { scores.push_back(p); };
  ASSERT_TRUE(predict_rows(trained.model, {one_row}, keep).ok());
  ASSERT_TRUE(predict_rows(trained.model, {other_unit}, keep).ok());
  EXPECT_GT(scores[0], scores[1] + 0.1f) << "a row alone is scaled as the rows were that were learnt from";
}

// Numbers far from 0 that differ little, such as years or prices of houses.
TEST_F(NumberScale, LabelsFarFromZeroAreLearntFromTheirMean) {
  double least = 0;
  for (const double up : {0.0, 1e4, 1e5}) {
    Random random(13);
    std::string text = "x,label\n";
    for (std::uint32_t row = 0; row < kRows; ++row) {
      const double x = random.normal();
      text += fmt::format("{:.4f},{:.4f}\n", x, up + 4 * x + 0.5 * random.normal());
    }
    options_.files = {folder_.write("far.csv", text)};
    options_.loss = Loss::kSquared;
    options_.epochs = 10;
    const TrainResult trained = run(options_);
    ASSERT_TRUE(trained.complete) << trained.status.message();
    const double rmse = trained.epochs.back().held_out->metrics.at("rmse");
    if (least == 0) least = rmse;
    EXPECT_LT(rmse, 1.1 * least) << up;
  }
  EXPECT_LT(least, 1);
}

// Of an hour, in seconds since 1970: floats tell 28 moments of it apart.
TEST_F(NumberScale, MomentsOfAnHourAreToldApart) {
  Random random(12);
  std::string table = "when,click\n", entries;
  for (std::uint32_t row = 0; row < kRows; ++row) {
    const double second = 3600 * random.unit();
    const bool click = random.chance(second > 1800 ? 0.9 : 0.1);
    const std::string when = fmt::format("{:.3f}", 1.7e9 + second);
    table += fmt::format("{},{}\n", when, click ? 1 : 0);
    entries += fmt::format("{} 1:{}\n", click ? 1 : 0, when);
  }
  options_.epochs = 5;
  for (const std::string& path : {folder_.write("hour.csv", table), folder_.write("hour.svm", entries)}) {
    options_.files = {path};
    const TrainResult trained = run(options_);
    ASSERT_TRUE(trained.complete) << trained.status.message();
    EXPECT_GT(trained.epochs.back().held_out->auc, 0.88) << path;
    EXPECT_LT(trained.epochs.back().held_out->logloss, 0.5) << path;
  }
}

// Features 1 and 2 of libsvm as price and age, the first in units of 1 / times and as many letters.
std::string indexed_prices(double times, int decimals) {
  Random random(11);
  std::string text;
  for (std::uint32_t row = 0; row < kRows; ++row) {
    const double price = 1 + 999 * random.unit() * random.unit();
    const double age = 18 + 60 * random.unit();
    const double score = 0.004 * price - 0.05 * (age - 40) - 1;
    const bool click = random.chance(1 / (1 + std::exp(-score)));
    text += fmt::format("{} 1:{:017.{}f} 2:{:.1f}\n", click ? 1 : 0, price * times, decimals, age);
  }
  return text;
}

TEST_F(NumberScale, AFeatureTimesAMillionLeavesHeldOutFigures) {
  expect_alike(folder_.write("one.svm", indexed_prices(1, 8)),
               folder_.write("million.svm", indexed_prices(1e6, 2)),
               {RuleKind::kFtrl, RuleKind::kSgd, RuleKind::kAdagrad, RuleKind::kAdam});
}

TEST_F(NumberScale, AModelKnowsTheScalesOfItsFeatures) {
  options_.files = {folder_.write("million.svm", indexed_prices(1e6, 2))};
  const TrainResult trained = run(options_);
  ASSERT_TRUE(trained.status.ok()) << trained.status.message();
  EXPECT_NE(lines_.find("values of 2 features are scaled"), std::string::npos) << lines_;
  const std::string few = folder_.write("few.svm", "0 1:500000000 2:30\n0 1:500 2:30\n");
  std::vector<float> scores;
  ASSERT_TRUE(predict_rows(trained.model, {few}, [&](float p) { scores.push_back(p); }).ok());
  ASSERT_EQ(scores.size(), 2u);
  EXPECT_GT(scores[0], scores[1] + 0.1f) << "as the rows were scaled that were learnt from";
  EXPECT_LT(scores[0], 0.99f);

  TrainerOptions next = options_;
  next.init = trained.model;
  next.out = folder_ / "next";
  const TrainResult more = run(next);
  ASSERT_TRUE(more.status.ok()) << more.status.message();
  EXPECT_LT(more.epochs.back().held_out->logloss, trained.epochs.back().held_out->logloss + 0.05);
}

// Rows of a price that tells of clicks, behind so many of which it is 0, in a column that is there from the
// begin.
std::string late_prices(std::uint32_t zeros) {
  Random random(17);
  std::string text = "price,click\n";
  for (std::uint32_t row = 0; row < kRows + zeros; ++row) {
    const double price = row < zeros ? 0 : std::floor(20000 * random.unit());
    text += fmt::format("{},{}\n", price, random.chance(price > 10000 ? 0.9 : 0.1) ? 1 : 0);
  }
  return text;
}

std::string columns_of(const std::string& model) { return SavedModel::load(model)->options().at("columns"); }

TEST_F(NumberScale, AColumnOfZerosGetsItsScaleOnTheDayThatNumbersCome) {
  std::string zeros = "price,click\n";
  for (int row = 0; row < 1500; ++row) zeros += row % 3 == 0 ? "0,1\n" : "0,0\n";
  options_.files = {folder_.write("zeros.csv", zeros)};
  options_.keep_bad = true;
  ASSERT_TRUE(run(options_).complete);
  EXPECT_EQ(columns_of(options_.out), "price:num/?,click:label");
  options_.init = options_.out, options_.out = folder_ / "next", options_.epochs = 5;
  options_.files = {folder_.write("later.csv", late_prices(0))};
  const TrainResult next = run(options_);
  ASSERT_TRUE(next.complete) << next.status.message();
  EXPECT_EQ(columns_of(options_.out).substr(0, 10), "price:num-") << columns_of(options_.out);
  EXPECT_GT(next.epochs.back().held_out->auc, 0.85);
}

TEST_F(NumberScale, NumbersThatNoLookedAtRowHasAreLearntAndGoOnAsTheyWere) {
  const std::string file = folder_.write("late.csv", late_prices(300000));
  options_.more.from_command = "cat %s";
  options_.files = {file};
  options_.epochs = 1;
  const TrainResult trained = run(options_);
  ASSERT_TRUE(trained.complete) << trained.status.message();
  EXPECT_EQ(columns_of(options_.out), "price:num/?,click:label");
  options_.more.from_command.clear();
  options_.files = {folder_.write("later.csv", late_prices(0))};
  options_.init = options_.out, options_.out = folder_ / "next";
  const TrainResult next = run(options_);
  ASSERT_TRUE(next.complete) << next.status.message();
  EXPECT_EQ(columns_of(options_.out), "price:num:log/1,click:label");
  EXPECT_GT(next.epochs.back().held_out->auc, 0.75);
}

TEST_F(NumberScale, RawValuesStandAsTheyAre) {
  options_.files = {folder_.write("million.svm", indexed_prices(1e6, 2))};
  options_.raw_values = true;
  options_.optimizer = RuleKind::kSgd;
  options_.rate = 1.0f;
  EXPECT_EQ(run(options_).status.code(), Code::kNonFinite);
}

TEST_F(NumberScale, RawNumbersOfAnySizeDivergeByName) {
  options_.files = {prices(1e6, 2)};
  options_.columns = "price:num:raw";
  options_.optimizer = RuleKind::kSgd;
  options_.rate = 1.0f;
  const TrainResult trained = run(options_);
  EXPECT_EQ(trained.status.code(), Code::kNonFinite);
  EXPECT_NE(trained.status.message().find("column \"price\""), std::string::npos) << trained.status.message();
}

}  // namespace
}  // namespace thalweg
