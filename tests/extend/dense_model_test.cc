// A dense model of an application's own: softmax regression, its gradient by hand.
#include "thalweg/dense_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "base/random.h"
#include "base/temporary_folder_for_test.h"
#include "model/model_kind.h"
#include "thalweg/trainer.h"

namespace thalweg {
namespace {

class Regression final : public DenseModel {
 public:
  explicit Regression(const DenseSizes& sizes) : inputs_(sizes.inputs), classes_(sizes.classes) {}
  std::vector<DenseParameter> parameters() const override {
    return {{"weight", {static_cast<std::int64_t>(classes_), static_cast<std::int64_t>(inputs_)}},
            {"bias", {static_cast<std::int64_t>(classes_)}}};
  }
  double learn(const DenseRows& rows, std::span<const std::span<const float>> values, std::span<float> scores,
               std::span<const std::span<float>> gradients) override {
    for (const std::span<float> gradient : gradients) std::fill(gradient.begin(), gradient.end(), 0.0f);
    double sum = 0;
    std::vector<double> p(classes_);
    for (std::size_t r = 0; r < rows.count; ++r) {
      const auto x = rows.inputs.subspan(r * inputs_, inputs_);
      double total = 0;
      for (std::size_t c = 0; c < classes_; ++c) {
        p[c] = values[1][c];
        for (std::size_t i = 0; i < inputs_; ++i) p[c] += double{values[0][c * inputs_ + i]} * double{x[i]};
        total += std::exp(p[c]);
      }
      scores[r] = static_cast<float>(std::max_element(p.begin(), p.end()) - p.begin());
      const auto label = static_cast<std::size_t>(rows.labels[r]);
      sum += double{rows.weights[r]} * (std::log(total) - p[label]);
      for (std::size_t c = 0; c < classes_ && !gradients.empty(); ++c) {
        const double slope = std::exp(p[c]) / total - (c == label ? 1 : 0);
        const auto weighted = static_cast<float>(slope) * rows.weights[r];
        gradients[1][c] += weighted;
        for (std::size_t i = 0; i < inputs_; ++i) gradients[0][c * inputs_ + i] += weighted * x[i];
      }
    }
    return sum;
  }

 private:
  const std::size_t inputs_, classes_;
};

std::unique_ptr<DenseModel> make_regression(const DenseSizes& sizes) {
  return std::make_unique<Regression>(sizes);
}

// Three classes, each with two features of its own and one that all share.
std::string rows_text(int rows) {
  Random random(5);
  std::string text;
  for (int r = 0; r < rows; ++r) {
    const std::uint64_t label = random.below(3);
    text += std::to_string(label) + " " + std::to_string(2 * label + random.below(2)) +
            ":1 6:" + std::to_string(random.unit()) + "\n";
  }
  return text;
}

struct DenseModelKindTest : testing::Test {
  TrainerOptions options(const DenseModelKind& kind) const {
    TrainerOptions out;
    out.files = {file};
    out.model = "regression";
    out.more.models = {kind.get()};
    out.epochs = 3;
    out.valid_part = 10;
    return out;
  }
  TrainResult trained(const TrainerOptions& options) const {
    auto trainer = Trainer::open(options);
    if (trainer) return trainer->run();
    TrainResult none;
    none.status = trainer.status();
    return none;
  }
  const TemporaryFolder folder;
  const std::string file = folder.write("rows.svm", rows_text(2000));
};

TEST_F(DenseModelKindTest, TrainsByItsNameOnAnyNodesAndPredicts) {
  const DenseModelKind kind("regression", make_regression, {.rate = 0.1f});
  TrainerOptions one = options(kind);
  one.workers = one.servers = 1;
  one.out = folder / "model";
  const TrainResult alone = trained(one);
  ASSERT_TRUE(alone.status.ok()) << alone.status.message();
  EXPECT_GT(alone.valid_accuracy, 0.99);
  TrainerOptions more = options(kind);
  more.workers = more.servers = 2;
  EXPECT_EQ(trained(more).model_digest, alone.model_digest);
  more.servers = 0;
  more.exchange = "auto";
  EXPECT_EQ(trained(more).model_digest, alone.model_digest);

  std::vector<float> classes;
  const auto take = [&](float p) { classes.push_back(p); };
  EXPECT_EQ(predict_rows(one.out, {file}, take).code(), Code::kModel);
  const Status predicted = predict_rows(one.out, {file}, take, one.more);
  ASSERT_TRUE(predicted.ok()) << predicted.message();
  EXPECT_EQ(classes.size(), 2000u);
}

// As libraries do for what they cannot compute.
class Throwing final : public DenseModel {
 public:
  std::vector<DenseParameter> parameters() const override { return {{"weight", {1}}}; }
  double learn(const DenseRows&, std::span<const std::span<const float>>, std::span<float>,
               std::span<const std::span<float>>) override {
    throw std::runtime_error("there is no such kernel\nat line 3");
  }
};

TEST_F(DenseModelKindTest, WhatItThrowsEndsTheTraining) {
  const DenseModelKind kind("regression", [](const DenseSizes&) { return std::make_unique<Throwing>(); });
  TrainerOptions wanted = options(kind);
  wanted.batch = 100, wanted.data_shards = 2;
  const Status status = trained(wanted).status;
  EXPECT_EQ(status.code(), Code::kUsage);
  EXPECT_NE(
      status.message().find("model regression: it fails on a batch of 50 rows: there is no such kernel"),
      std::string::npos)
      << status.message();
  EXPECT_EQ(status.message().find("line 3"), std::string::npos) << status.message();
}

TEST_F(DenseModelKindTest, WhatItsMakingThrowsIsAnError) {
  struct Unmade final : DenseModel {
    std::vector<DenseParameter> parameters() const override { throw std::runtime_error("no device\nat 3"); }
    double learn(const DenseRows&, std::span<const std::span<const float>>, std::span<float>,
                 std::span<const std::span<float>>) override {
      return 0;
    }
  };
  const DenseModelKind unmade("regression", [](const DenseSizes&) { return std::make_unique<Unmade>(); });
  EXPECT_EQ(trained(options(unmade)).status.message(), "model regression: it cannot be made: no device");
  const DenseModelKind throws("regression", [](const DenseSizes&) -> std::unique_ptr<DenseModel> {
    throw std::invalid_argument("no such width");
  });
  const Status status = trained(options(throws)).status;
  EXPECT_EQ(status.code(), Code::kUsage);
  EXPECT_EQ(status.message(), "model regression: it cannot be made: no such width");
}

TEST_F(DenseModelKindTest, HasANameThatNoOtherHas) {
  for (const char* name : {"mlp", "lr"}) {
    const DenseModelKind kind(name, make_regression);
    TrainerOptions wanted = options(kind);
    wanted.model = name;
    EXPECT_EQ(trained(wanted).status.message(), std::string("two kinds of models are called '") + name +
                                                    "'; expected another name for the application's own");
  }
}

TEST_F(DenseModelKindTest, TakesItsDefaultsAndHiddenWidths) {
  std::vector<std::uint32_t> seen;
  const auto make = [&](const DenseSizes& sizes) {
    seen = sizes.hidden;
    return make_regression(sizes);
  };
  const DenseModelKind kind("regression", make, {.epochs = 4, .batch = 50, .hidden = {7, 5}});
  TrainerOptions wanted = options(kind);
  wanted.epochs.reset();
  wanted.workers = 1;
  const auto trainer = Trainer::open(wanted);
  ASSERT_TRUE(trainer.ok()) << trainer.status().message();
  EXPECT_EQ(trainer->options().epochs, 4u);
  EXPECT_EQ(trainer->options().batch, 50u);
  EXPECT_EQ(seen, (std::vector<std::uint32_t>{7, 5}));
  wanted.hidden = {8, 0, 4};
  const Status refused = Trainer::open(wanted).status();
  EXPECT_EQ(refused.code(), Code::kUsage);
  EXPECT_EQ(refused.message(), "--hidden 8,0,4: saw a width of 0; expected widths from 1, such as 512,512");
}

class Parameters final : public DenseModel {
 public:
  explicit Parameters(std::vector<DenseParameter> its) : its_(std::move(its)) {}
  std::vector<DenseParameter> parameters() const override { return its_; }
  double learn(const DenseRows&, std::span<const std::span<const float>>, std::span<float>,
               std::span<const std::span<float>>) override {
    return 0;
  }

 private:
  const std::vector<DenseParameter> its_;
};

TEST_F(DenseModelKindTest, RefusesParametersThatCannotBe) {
  const std::pair<std::vector<DenseParameter>, const char*> bad[] = {
      {{}, "model regression has no parameters"},
      {{{"w", {2}}, {"v", {2}}, {"w", {3}}}, "two parameters 'w'"},
      {{{"w", {2, 0}}}, "parameter 'w' of model regression; expected"},
      {{{"w", {}}}, "parameter 'w' of model regression; expected"},
      {{{"", {2}}}, "parameter '' of model regression; expected"},
      {{{"a/b", {2}}}, "parameter 'a/b' of model regression; expected"},
      {{{"w", {2, 1 << 20, 1 << 20}}}, "parameter 'w' of model regression; expected"},
  };
  for (const auto& [its, what] : bad) {
    const DenseModelKind kind("regression",
                              [&its = its](const DenseSizes&) { return std::make_unique<Parameters>(its); });
    const Status status = trained(options(kind)).status;
    EXPECT_EQ(status.code(), Code::kUsage) << what;
    EXPECT_NE(status.message().find(what), std::string::npos) << status.message();
  }
}

}  // namespace
}  // namespace thalweg
