// What a training that goes on does with features that its model has not learnt.
#include <fmt/format.h>

#include <cmath>
#include <string>

#include "data/column/columns.h"
#include "thalweg/saved_model.h"
#include "train/trainer/trainer_for_test.h"

namespace thalweg {
namespace {

class NewFeatures : public TrainerTest {
 protected:
  NewFeatures() { options_.epochs = 1, options_.keep_best = false; }

  // Clicks that follow a price, which rows have where `later`, and the ids of users.
  std::string members(bool later) const {
    Random random(19);
    std::string text;
    for (std::uint32_t row = 0; row < kRows; ++row) {
      const double price = std::floor(100000 * random.unit());
      const bool click = random.chance(price > 50000 ? 0.9 : 0.1);
      text += fmt::format("{{\"click\":{},\"ad\":\"a{}\",\"hour\":{}", click ? 1 : 0, random.below(5),
                          random.below(24));
      if (later) text += fmt::format(",\"price\":{},\"user_id\":{}", price, 1000 + random.below(50));
      text += "}\n";
    }
    return folder_.write(later ? "later.jsonl" : "first.jsonl", text);
  }
  std::string option(const char* name) const {
    const auto model = SavedModel::load(options_.out);
    const auto& all = model->options();
    return all.contains(name) ? all.at(name) : "";
  }
  TrainResult go_on() {
    options_.init = options_.out, options_.out = folder_ / "next";
    return run(options_);
  }
};

TEST_F(NewFeatures, MembersThatAreNewAreGuessedAndScaled) {
  options_.files = {members(false)};
  ASSERT_TRUE(run(options_).complete);
  EXPECT_EQ(option("columns"), "");
  options_.files = {members(true)};
  options_.epochs = 3;
  const TrainResult next = go_on();
  ASSERT_TRUE(next.complete) << next.status.message();
  EXPECT_EQ(option("columns"), "user_id:cat") << "and hour is the number that it was";
  const std::string scales = option("value-scales"), price = fmt::format("{}", column_salt("price"));
  EXPECT_TRUE(scales.starts_with(price + "-")) << scales;
  EXPECT_NE(
      lines_.find("values of 2 features are scaled, by their mean and deviation or their mean size: price "),
      std::string::npos)
      << lines_;
  EXPECT_GT(next.epochs.back().held_out->auc, 0.85);
}

TEST_F(NewFeatures, MembersThatAreNewMayBeTold) {
  options_.files = {members(false)};
  ASSERT_TRUE(run(options_).complete);
  TrainerOptions next = options_;
  next.init = options_.out, next.out = folder_ / "next", next.files = {members(true)};
  for (const char* other : {"hour:cat", "hour:num:log", "hour:-", "*:cat"}) {
    next.columns = other;
    EXPECT_NE(refused(next).message().find(fmt::format("--columns {}, but the model", other)),
              std::string::npos)
        << other;
  }
  next.columns = "user_id:num:log,price:num:bucket,hour:num";
  ASSERT_TRUE(run(next).complete);
  options_.out = next.out;
  EXPECT_EQ(option("columns"), "hour:num,price:num:bucket,user_id:num:log");
  next.init = next.out, next.out = folder_ / "third";
  next.columns = "price:cat";
  EXPECT_NE(refused(next).message().find("--columns price:cat, but the model"), std::string::npos);
  next.columns = "price:num:bucket";
  EXPECT_TRUE(run(next).complete);
}

// Feature 1, and where `later` feature 2 of a thousand times its size.
std::string indices(bool later) {
  Random random(23);
  std::string text;
  for (std::uint32_t row = 0; row < kRows; ++row) {
    const double size = 1000 * random.unit();
    text += fmt::format("{} 1:{:.1f}", random.chance(size > 500 ? 0.8 : 0.2) ? 1 : 0, size);
    text += later ? fmt::format(" 2:{:.0f}\n", 1000 * size) : "\n";
  }
  return text;
}

TEST_F(NewFeatures, OfIndicesTheNewOnesAloneGetScales) {
  options_.files = {folder_.write("first.svm", indices(false))};
  ASSERT_TRUE(run(options_).complete);
  const std::string first = option("value-scales");
  EXPECT_TRUE(first.starts_with("1-")) << first;
  options_.raw_values = true;
  options_.init = options_.out;
  EXPECT_NE(refused(options_).message().find("--raw-values, but the model at"), std::string::npos);
  options_.raw_values = false;
  options_.files = {folder_.write("later.svm", indices(true))};
  ASSERT_TRUE(go_on().complete);
  EXPECT_TRUE(option("value-scales").starts_with(first + ",2-")) << option("value-scales");
}

TEST_F(NewFeatures, AModelOfRawValuesGoesOnWithThem) {
  options_.files = {folder_.write("first.svm", "1 1:0.5\n0 1:0.25\n")};
  options_.raw_values = true, options_.valid_part = 0, options_.keep_bad = true;
  ASSERT_TRUE(run(options_).complete);
  options_.raw_values = false, options_.files = {folder_.write("later.svm", indices(true))};
  options_.rate = 1e-9f;
  (void)go_on();
  EXPECT_EQ(option("value-scales"), "");
  EXPECT_EQ(option("raw-values"), "true");
}

}  // namespace
}  // namespace thalweg
