// Trainings by losses beside clicks and ratings, and with features of pairs.
#include <fmt/format.h>

#include <cmath>
#include <string>
#include <vector>

#include "model/format/model_dir.h"
#include "net/system_disk.h"
#include "train/trainer/trainer_for_test.h"

namespace thalweg {
namespace {

class Objectives : public TrainerTest {
 protected:
  // Counts whose mean is the product of what their two features have.
  std::string counts(std::uint32_t rows) const {
    Random random(5);
    std::string text;
    for (std::uint32_t row = 0; row < rows; ++row) {
      const std::uint64_t shop = random.below(10), day = random.below(7);
      const double mean = std::exp(0.2 * static_cast<double>(shop) - 0.15 * static_cast<double>(day));
      int count = 0;
      for (double product = random.unit(); product > std::exp(-mean); product *= random.unit()) ++count;
      text += fmt::format("{} {}:1 {}:1\n", count, shop, 100 + day);
    }
    return folder_.write("counts.svm", text);
  }
  // Four classes, by the features that a row has of 40.
  std::string classes(std::uint32_t rows) const {
    Random random(7);
    std::string text;
    for (std::uint32_t row = 0; row < rows; ++row) {
      const std::uint64_t own = random.below(4);
      text += fmt::format("{}", own);
      for (int e = 0; e < 4; ++e)
        text += fmt::format(" {}:1", random.chance(0.6) ? 10 * own + random.below(10) : random.below(40));
      text += '\n';
    }
    return folder_.write("classes.svm", text);
  }
  // A label that neither of two namespaces tells, but both together.
  std::string both(const std::string& name, bool as_csv) const {
    Random random(9);
    std::string text = as_csv ? "user,item,label\n" : "";
    for (std::uint32_t row = 0; row < kRows; ++row) {
      const std::uint64_t user = random.below(8), item = random.below(8);
      const bool likes = random.chance((user + item) % 2 == 0 ? 0.9 : 0.1);
      text += as_csv ? fmt::format("u{},i{},{}\n", user, item, likes ? 1 : 0)
                     : fmt::format("{} |user u{} |item i{}\n", likes ? 1 : -1, user, item);
    }
    return folder_.write(name, text);
  }
};

TEST_F(Objectives, LabelsThatSinglePrecisionRoundsAreTold) {
  options_.loss = Loss::kSquared;
  options_.keep_bad = true;
  for (const auto& [base, told] : {std::pair(1e6, false), {3e7, true}, {1e9, true}}) {
    std::string text;
    for (int row = 0; row < 300; ++row) text += fmt::format("{:.0f} {}:1\n", base + row % 7 * 2, row % 7);
    options_.files = {folder_.write("far.svm", text)};
    lines_.clear();
    run(options_);
    EXPECT_EQ(lines_.find("are read in single precision") != lines_.npos, told) << base << ": " << lines_;
  }
}

TEST_F(Objectives, PoissonLearnsMeansOfCounts) {
  options_.files = {counts(kRows)};
  options_.loss = Loss::kPoisson;
  options_.epochs = 5;
  for (const char* model : {"lr", "fm"}) {
    options_.model = model;
    const TrainResult result = run(options_);
    ASSERT_TRUE(result.status.ok()) << result.status.message();
    const auto& metrics = result.epochs.back().held_out->metrics;
    // Of counts by their true means it is 1.1 or so, of their mean alone 2.
    EXPECT_LT(metrics.at("deviance"), 1.3) << model;
    EXPECT_NEAR(metrics.at("deviance"), 2 * *result.valid_loss, 1e-6);
    EXPECT_NEAR(metrics.at("calibration"), 1, 0.1) << model;
    EXPECT_FALSE(metrics.contains("logloss"));
    double sum = 0, rows = 0;
    ASSERT_TRUE(predict_rows(options_.out, options_.files, [&](float p) { sum += p, rows += 1; }).ok());
    EXPECT_NEAR(sum / rows, 1.9, 0.3) << model;
  }
}

TEST_F(Objectives, PoissonBeginsWithTheLogarithmOfUsualLabels) {
  for (const double mean : {0.02, 100.0, 3000.0}) {
    Random random(6);
    std::string text;
    for (std::uint32_t row = 0; row < (mean < 1 ? 5 : 1) * kRows; ++row) {
      const std::uint64_t shop = random.below(10);
      const double own = mean * std::exp(0.1 * (static_cast<double>(shop) - 4.5));
      const double count =
          mean < 1 ? (random.chance(own) ? 1 : 0) : std::round(own + std::sqrt(own) * random.normal());
      text += fmt::format("{} {}:1\n", count, shop);
    }
    options_.files = {folder_.write("large.svm", text)};
    options_.loss = Loss::kPoisson;
    options_.epochs = 1, options_.keep_bad = true, options_.valid_part = 2;
    for (const RuleKind rule : {RuleKind::kAdagrad, RuleKind::kAdam, RuleKind::kSgd}) {
      options_.optimizer = rule;
      const TrainResult result = run(options_);
      ASSERT_TRUE(result.complete) << result.status.message();
      EXPECT_NEAR(result.epochs.back().held_out->metrics.at("calibration"), 1, 0.35)
          << mean << " " << static_cast<int>(rule);
    }
  }
  EXPECT_NE(lines_.find("labels are 104 in the mean, with a standard deviation of "), std::string::npos)
      << lines_;
  EXPECT_NE(lines_.find(": the bias begins with 4.6"), std::string::npos) << lines_;
}

TEST_F(Objectives, PoissonHasTheSameBitsOnAnyClusterAndGoesOn) {
  options_.files = {counts(1000)};
  options_.loss = Loss::kPoisson;
  options_.keep_best = false;
  const TrainResult one = run(options_);
  options_.servers = 3, options_.workers = 2;
  EXPECT_EQ(run(options_).model_digest, one.model_digest);
  options_.epochs = 1;
  (void)run(options_);
  TrainerOptions next;
  next.files = options_.files, next.valid_part = 10, next.init = options_.out, next.keep_best = false;
  EXPECT_EQ(run(next).model_digest, one.model_digest);
  next.loss = Loss::kSquared;
  EXPECT_NE(refused(next).message().find("--loss squared"), std::string::npos);
}

TEST_F(Objectives, ACountIsNotBelowZero) {
  options_.files = {folder_.write("bad.svm", "1 1:1\n-1 2:1\n")};
  options_.valid_part = 0;
  options_.loss = Loss::kPoisson;
  const Status status = refused(options_);
  EXPECT_EQ(status.code(), Code::kData);
  EXPECT_NE(status.message().find("bad.svm:2:1"), std::string::npos) << status.message();
  EXPECT_NE(status.message().find("at least 0"), std::string::npos);
}

TEST_F(Objectives, LinearModelsLearnClassesOfSparseFeatures) {
  options_.files = {classes(kRows)};
  options_.loss = Loss::kClasses;
  options_.epochs = 3;
  const TrainResult result = run(options_);
  ASSERT_TRUE(result.status.ok()) << result.status.message();
  EXPECT_GT(*result.valid_accuracy, 0.85);
  EXPECT_LT(*result.valid_loss, 0.6);  // ln(4) is 1.39.
  const auto model = ModelReader::open(SystemDisk(), options_.out);
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_EQ(model->manifest().model.classes, 4u);
  EXPECT_EQ(model->manifest().tables[1].spec.dim, 4u);
  std::vector<float> seen;
  ASSERT_TRUE(predict_rows(options_.out, options_.files, [&](float p) { seen.push_back(p); }).ok());
  for (const float p : seen) ASSERT_TRUE(p == 0 || p == 1 || p == 2 || p == 3) << p;
  options_.servers = 2, options_.workers = 3;
  EXPECT_EQ(run(options_).model_digest, result.model_digest);
}

TEST_F(Objectives, AClassMayBeAmongHeldOutRowsAlone) {
  std::string text;
  for (int row = 1; row <= 200; ++row) text += fmt::format("{} {}:1\n", row == 100 ? 4 : row % 3, row % 3);
  options_.files = {folder_.write("rare.svm", text)};
  options_.loss = Loss::kClasses;
  options_.valid_part = 10;
  const TrainResult result = run(options_);
  ASSERT_TRUE(result.status.ok()) << result.status.message();
  EXPECT_EQ(ModelReader::open(SystemDisk(), options_.out)->manifest().model.classes, 5u);
  options_.classes = 3;
  const std::string message = run(options_).status.message();
  EXPECT_NE(message.find("from 0 to 2, since there are 3 classes"), message.npos) << message;
}

TEST_F(Objectives, ClassesAreOfLinearAndDenseModels) {
  options_.files = {classes(100)};
  options_.loss = Loss::kClasses;
  options_.model = "fm";
  EXPECT_NE(refused(options_).message().find("for lr and dense models"), std::string::npos);
  options_.model = "lr";
  options_.classes = 3;
  EXPECT_EQ(refused(options_).code(), Code::kData);
  options_.loss = Loss::kPoisson, options_.model = "mlp", options_.classes.reset();
  EXPECT_NE(refused(options_).message().find("--loss poisson"), std::string::npos);
}

TEST_F(Objectives, PairsTellWhatNeitherDoes) {
  for (const bool as_csv : {false, true}) {
    options_.files = {both(as_csv ? "both.csv" : "both.vw", as_csv)};
    options_.interactions.clear();
    options_.keep_bad = true;
    options_.rate = 0.5f, options_.l2 = 0.1f, options_.epochs = 5;
    const TrainResult without = run(options_);
    ASSERT_TRUE(without.complete) << without.status.message();
    EXPECT_LT(without.epochs.back().held_out->auc, 0.65);
    options_.interactions = "user*item";
    const TrainResult with = run(options_);
    ASSERT_TRUE(with.status.ok()) << with.status.message();
    EXPECT_GT(with.epochs.back().held_out->auc, 0.85);
    EXPECT_EQ(with.model_rows, 8u + 8u + 64u);
    // Whoever loads the model pairs as it was trained.
    double likes = 0, rows = 0;
    ASSERT_TRUE(predict_rows(options_.out, options_.files, [&](float p) {
                  rows += 1, likes += p > 0.7f || p < 0.3f;
                }).ok());
    EXPECT_GT(likes / rows, 0.95);
    TrainerOptions next;
    next.files = options_.files, next.init = options_.out, next.valid_part = 10;
    EXPECT_EQ(run(next).model_rows, with.model_rows);
    next.interactions = "*";
    EXPECT_NE(refused(next).message().find("has user*item; leave --interactions out"), std::string::npos);
  }
}

TEST_F(Objectives, PairsAreOfLinearModels) {
  options_.files = {both("both.vw", false)};
  options_.interactions = "user*item";
  for (const char* model : {"fm", "ffm"}) {
    options_.model = model;
    EXPECT_NE(refused(options_).message().find("--interactions makes no sense with --model"),
              std::string::npos)
        << model;
  }
  options_.model = "lr";
  options_.files = {folder_ / "clicks.svm"};
  EXPECT_NE(refused(options_).message().find("is libsvm"), std::string::npos);
}

TEST_F(Objectives, SizesAndRatesOfWhatAModelLacksAreRefused) {
  TrainerOptions options = options_;
  options.rank = 8;
  EXPECT_EQ(refused(options).message(), "--rank has no meaning with --model lr, which has no factors");
  options = options_;
  options.layer_rate = 0.1f;
  options.model = "fm";
  EXPECT_EQ(refused(options).message(),
            "--layer-rate has no meaning with --model fm, which has no layers above factors");
  options = options_;
  options.classes = 3;
  EXPECT_EQ(refused(options).message(),
            "--classes has no meaning with --model lr, which is neither dense nor of --loss classes");
}

TEST_F(Objectives, WhatShapesNetworksOfTextSaysNothingOfOthers) {
  for (const auto& [member, flag] :
       {std::pair(&TrainerOptions::context, "--context"), std::pair(&TrainerOptions::layers, "--layers"),
        std::pair(&TrainerOptions::width, "--width"), std::pair(&TrainerOptions::heads, "--heads")}) {
    TrainerOptions options = options_;
    options.*member = 2;
    EXPECT_EQ(refused(options).message(),
              fmt::format("{} has no meaning with --model lr, which is not of text", flag));
  }
}

// A line through numbers of size 1, labels times `times` and up by `up`.
std::string line_of(double times, double up) {
  Random random(11);
  std::string text;
  for (std::uint32_t row = 0; row < kRows; ++row) {
    const double a = random.unit(), b = random.unit(), label = 2 * a - b + 0.1 * random.unit();
    text += fmt::format("{:.9g} 1:{:.4f} 2:{:.4f}\n", times * label + up, a, b);
  }
  return text;
}

TEST_F(Objectives, SquaredLossLearnsLabelsOfAnySize) {
  options_.loss = Loss::kSquared;
  options_.epochs = 10;
  const auto rmse = [this](const std::string& model, double times, double up) {
    options_.model = model;
    options_.files = {folder_.write("line.svm", line_of(times, up))};
    const TrainResult result = run(options_);
    EXPECT_TRUE(result.status.ok()) << result.status.message();
    return std::sqrt(2 * result.valid_loss.value_or(std::nan(""))) / times;
  };
  for (const char* model : {"lr", "fm"}) {
    const double usual = rmse(model, 1, 0);
    EXPECT_LT(usual, 0.2) << model << ": labels differ by 0.65";
    for (const auto& [times, up] : {std::pair(1e5, 3e5), std::pair(1.0, 1000.0), std::pair(1e-4, 0.0)}) {
      const double here = rmse(model, times, up);
      EXPECT_LT(here, 1.5 * usual) << model << ' ' << times << ' ' << up;
    }
  }
  EXPECT_NE(lines_.find("the bias begins with"), lines_.npos);
}

TEST_F(Objectives, WhatIsToldOfRatesCountsWhateverLabelsAre) {
  options_.loss = Loss::kSquared;
  options_.files = {folder_.write("line.svm", line_of(1e5, 3e5))};
  options_.rate = 0.25f;
  const auto trainer = Trainer::open(options_);
  ASSERT_TRUE(trainer) << trainer.status().message();
  EXPECT_EQ(trainer->options().rate, 0.25f);
}

TEST_F(Objectives, PartsThatNoRowHasAreToldOf) {
  options_.files = {both("both.vw", false)};
  options_.interactions = "u*item";
  ASSERT_TRUE(Trainer::open(options_));
  EXPECT_NE(lines_.find("no row that was looked at has features called \"u\""), lines_.npos) << lines_;
  EXPECT_EQ(lines_.find("called \"item\""), lines_.npos);
}

TEST_F(Objectives, IdsThatAreNumbersInJsonAreCategoriesAsInCsv) {
  std::string text, csv = "label,userId,item_id,row_id\n";
  for (int row = 0; row < 400; ++row) {
    text += fmt::format("{{\"label\":{},\"userId\":{},\"item_id\":\"i{}\",\"row_id\":{}}}\n", row % 2,
                        row % 9, row % 7, row);
    csv += fmt::format("{},{},i{},{}\n", row % 2, row % 9, row % 7, row);
  }
  options_.data_shards = 1, options_.batch = 64;
  options_.files = {folder_.write("ids.csv", csv)};
  const TrainResult of_csv = run(options_);
  options_.files = {folder_.write("ids.jsonl", text)};
  options_.out = folder_ / "of_json";
  lines_.clear();
  const TrainResult of_json = run(options_);
  EXPECT_EQ(of_json.model_digest, of_csv.model_digest);
  EXPECT_NE(lines_.find("what members are, by 400 rows"), lines_.npos) << lines_;
  EXPECT_NE(lines_.find("whole numbers, and the name says ids"), lines_.npos) << lines_;
  std::vector<float> known, others;
  ASSERT_TRUE(predict_rows(options_.out, options_.files, [&](float p) { known.push_back(p); }).ok());
  ASSERT_TRUE(
      predict_rows(folder_ / "model", {folder_ / "ids.csv"}, [&](float p) { others.push_back(p); }).ok());
  EXPECT_EQ(known, others);
  options_.init = options_.out, options_.out = folder_ / "more";
  options_.columns = "userId:num";
  EXPECT_NE(refused(options_).message().find("has row_id:-,userId:cat"), std::string::npos);
  options_.columns = "userId:cat";  // It says no other than the model.
  EXPECT_TRUE(run(options_).status.ok());
}

TEST_F(Objectives, ALogOfClicksAloneIsToldOf) {
  options_.valid_part = 0;
  for (const char label : {'1', '0'}) {
    std::string text;
    for (int row = 0; row < 200; ++row) text += fmt::format("{} {}:1\n", label, row % 9);
    options_.files = {folder_.write("one.svm", text)};
    lines_.clear();
    ASSERT_TRUE(Trainer::open(options_));
    EXPECT_EQ(lines_.find("each of the 200 rows that were looked at has the label 1") != lines_.npos,
              label == '1')
        << "clicks may be so rare that a look finds none: " << lines_;
  }
}

TEST_F(Objectives, ALogWithoutAClickIsToldOfOnceItIsLearnt) {
  options_.valid_part = 0;
  for (const char* label : {"0", "-1"}) {
    for (const bool click : {false, true}) {
      std::string text;
      for (int row = 0; row < 200; ++row)
        text += fmt::format("{} {}:1\n", click && row == 190 ? "1" : label, row % 9);
      options_.files = {folder_.write("none.svm", text)};
      const std::string warnings = fmt::format("{}", fmt::join(run(options_).warnings, "\n"));
      EXPECT_EQ(
          warnings.find("none of the training rows that were looked at has the label 1") == warnings.npos,
          click)
          << warnings;
    }
  }
}

TEST_F(Objectives, MembersThatNoRowHasAreToldOf) {
  options_.files = {folder_.write("ids.jsonl", "{\"label\":1,\"userId\":7}\n{\"label\":0,\"userId\":8}\n")};
  options_.columns = "user:cat";
  options_.valid_part = 0;
  ASSERT_TRUE(Trainer::open(options_));
  EXPECT_NE(lines_.find("has a value of member \"user\", which --columns names"), lines_.npos) << lines_;
}

TEST_F(Objectives, LabelsAndWeightsAreNamedWhereRowsHaveNamesOnly) {
  for (const bool weight : {false, true}) {
    TrainerOptions options = options_;
    (weight ? options.weight_column : options.label_column) = "w";
    const std::string message = refused(options).message();
    EXPECT_NE(message.find(weight ? "--weight-column w" : "--label-column w"), message.npos) << message;
  }
  options_.files = {folder_.write("w.jsonl", [] {
    std::string text;
    for (int row = 0; row < 100; ++row) text += fmt::format("{{\"label\":{},\"a\":\"x\"}}\n", row % 2);
    return text;
  }())};
  options_.weight_column = "w";
  ASSERT_TRUE(Trainer::open(options_));
  EXPECT_NE(lines_.find("weight other than 1"), lines_.npos) << lines_;
}

}  // namespace
}  // namespace thalweg
