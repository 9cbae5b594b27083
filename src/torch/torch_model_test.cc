#include "torch/torch_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/random.h"
#include "model/dense/component.h"

extern "C" const thalweg::DenseComponent* thalweg_dense_component();

namespace thalweg {
namespace {

ModelSpec spec_of(const std::string& name, Loss loss) {
  ModelSpec spec;
  spec.name = name;
  spec.loss = loss;
  spec.inputs = 16;
  spec.classes = 3;
  if (name == "mlp") spec.hidden = {5, 4};
  if (name == "gpt") spec.layers = 2, spec.width = 8, spec.heads = 2, spec.classes = 256;
  return spec;
}

// Rows of features that are there at random, with weights.
Batch random_rows(const ModelSpec& spec, std::uint64_t seed, std::size_t count) {
  Random random(seed);
  Batch batch;
  for (std::size_t r = 0; r < count; ++r) {
    for (Key key = 0; key < spec.inputs; ++key) {
      const bool of_text = spec.loss == Loss::kBytes;
      if (!of_text && !random.chance(0.6)) continue;
      batch.keys.push_back(key);
      batch.values.push_back(
          static_cast<float>(of_text ? static_cast<double>(random.below(256)) : random.normal()));
    }
    batch.row_begin.push_back(static_cast<std::uint32_t>(batch.keys.size()));
    const std::uint64_t label = random.below(spec.loss == Loss::kLogistic ? 2
                                             : spec.loss == Loss::kBytes  ? 256
                                                                          : 3);
    batch.labels.push_back(static_cast<float>(label));
    batch.weights.push_back(0.5f + static_cast<float>(random.below(2)));
  }
  return batch;
}

class TorchModelTest : public testing::TestWithParam<std::tuple<const char*, Loss>> {
 protected:
  void SetUp() override {
    spec_ = spec_of(std::get<0>(GetParam()), std::get<1>(GetParam()));
    ASSERT_TRUE(thalweg_dense_component()->check(spec_).ok());
    model_ = thalweg_dense_component()->make(spec_);
    Random random(3);
    for (const TableSpec& table : model_->tables()) {
      ASSERT_EQ(table.kind, TableSpec::Kind::kDense);
      std::vector<float> values(table.rows * table.dim);
      for (float& value : values) value = static_cast<float>(random.normal()) * 0.5f;
      values_.push_back(values);
      grads_.emplace_back(values.size(), 77.0f);
    }
    Batch raw = random_rows(spec_, 5, 7);
    ASSERT_TRUE(model_->validate(raw).ok());
    batch_.keep(raw);
    scores_.resize(batch_.size());
  }
  std::vector<std::span<const float>> rows() const { return {values_.begin(), values_.end()}; }
  LossSum gradient() {
    const std::vector<std::span<float>> grads(grads_.begin(), grads_.end());
    return model_->gradient(batch_, rows(), scores_, grads);
  }

  ModelSpec spec_;
  std::unique_ptr<Model> model_;
  std::vector<std::vector<float>> values_, grads_;
  LocalBatch batch_;
  std::vector<float> scores_;
};

TEST_P(TorchModelTest, TellsOfEachGradientOnceItIsWhole) {
  std::vector<std::size_t> told;
  std::vector<std::vector<float>> seen(grads_.size());
  const auto ready = [&](std::size_t table) {
    told.push_back(table);
    seen[table] = grads_[table];
  };
  const std::vector<std::span<float>> grads(grads_.begin(), grads_.end());
  const LossSum early = model_->gradient_by_table(batch_, rows(), scores_, grads, ready);
  EXPECT_EQ(seen, grads_);
  EXPECT_GT(told.front(), told.back()) << "the last layers' come first";
  std::sort(told.begin(), told.end());
  for (std::size_t t = 0; t < grads_.size(); ++t) EXPECT_EQ(told[t], t);
  EXPECT_EQ(told.size(), grads_.size());
  EXPECT_EQ(early.loss, gradient().loss);
  EXPECT_EQ(seen, grads_);
}

TEST_P(TorchModelTest, TellsOfNoGradientOfALossThatIsNotFinite) {
  for (float& value : values_.back()) value = std::numeric_limits<float>::quiet_NaN();
  const std::vector<std::span<float>> grads(grads_.begin(), grads_.end());
  const auto ready = [](std::size_t) { FAIL() << "a gradient of no number"; };
  EXPECT_FALSE(std::isfinite(model_->gradient_by_table(batch_, rows(), scores_, grads, ready).loss));
}

TEST_P(TorchModelTest, ForwardAndGradientAgreeOnLossesAndScores) {
  const LossSum learnt = gradient();
  const std::vector<float> scores = scores_;
  const LossSum scored = model_->forward(batch_, rows(), scores_);
  EXPECT_EQ(learnt.rows, batch_.size());
  EXPECT_NEAR(scored.loss, learnt.loss, 1e-4 * learnt.loss);
  EXPECT_EQ(scored.weight, learnt.weight);
  for (std::size_t r = 0; r < scores.size(); ++r) EXPECT_NEAR(scores[r], scores_[r], 1e-5f);
}

// Of the gradient's own direction against the difference of two losses.
TEST_P(TorchModelTest, TheGradientIsThatOfTheLoss) {
  gradient();
  for (std::size_t t = 0; t < values_.size(); ++t) {
    double square = 0;
    for (const float g : grads_[t]) square += static_cast<double>(g) * static_cast<double>(g);
    ASSERT_GT(square, 0) << "table " << t;
    const float step = 3e-3f / static_cast<float>(std::sqrt(square));
    const std::vector<float> before = values_[t];
    double losses[2];
    for (const int side : {0, 1}) {
      const float along = side == 0 ? -step : step;
      for (std::size_t i = 0; i < before.size(); ++i) values_[t][i] = before[i] + along * grads_[t][i];
      losses[side] = model_->forward(batch_, rows(), scores_).loss;
    }
    values_[t] = before;
    const double slope = (losses[1] - losses[0]) / (2 * static_cast<double>(step));
    EXPECT_NEAR(slope, square, 0.04 * square) << "table " << t;
  }
}

TEST_P(TorchModelTest, ComputesTheSameBitsEachTime) {
  gradient();
  const auto first = grads_;
  gradient();
  EXPECT_EQ(first, grads_);
}

INSTANTIATE_TEST_SUITE_P(Networks, TorchModelTest,
                         testing::Combine(testing::Values("softmax", "mlp", "convnet"),
                                          testing::Values(Loss::kClasses, Loss::kLogistic, Loss::kSquared)),
                         [](const auto& tested) {
                           return std::string(std::get<0>(tested.param)) + "_" +
                                  std::string(loss_name(std::get<1>(tested.param)));
                         });

INSTANTIATE_TEST_SUITE_P(Text, TorchModelTest, testing::Values(std::tuple("gpt", Loss::kBytes)));

class TextModelTest : public TorchModelTest {};
INSTANTIATE_TEST_SUITE_P(Text, TextModelTest, testing::Values(std::tuple("gpt", Loss::kBytes)));

TEST_P(TextModelTest, ARowCountsForEachOfItsBytes) {
  const LossSum sum = model_->forward(batch_, rows(), scores_);
  double weights = 0;
  for (const float weight : batch_.rows().weights) weights += static_cast<double>(weight);
  EXPECT_EQ(sum.rows, 7u);
  EXPECT_DOUBLE_EQ(sum.weight, 16 * weights);
}

TEST_P(TextModelTest, LossesAreThoseOfTheBytesThatFollow) {
  Batch raw = random_rows(spec_, 9, 1);
  raw.weights.clear();
  const std::vector<float> bytes = raw.values;
  const float label = raw.labels[0];
  double expected = 0;
  for (std::size_t size = 1; size <= bytes.size(); ++size) {
    Batch part;
    for (std::size_t i = 0; i < size; ++i) part.keys.push_back(i), part.values.push_back(bytes[i]);
    part.row_begin.push_back(static_cast<std::uint32_t>(size));
    part.labels = {0};
    LocalBatch row;
    row.keep(part);
    std::vector<float> next;
    ASSERT_TRUE(model_->score_next(row, rows(), next));
    ASSERT_EQ(next.size(), 256u);
    double sum = 0;
    for (const float score : next) sum += std::exp(static_cast<double>(score));
    const auto byte = static_cast<std::size_t>(size < bytes.size() ? bytes[size] : label);
    expected += std::log(sum) - static_cast<double>(next[byte]);
  }
  LocalBatch batch;
  batch.keep(raw);
  std::vector<float> scores(1);
  EXPECT_NEAR(model_->forward(batch, rows(), scores).loss, expected, 1e-4 * expected);
}

TEST_P(TextModelTest, RowsOtherThanBytesAreRefused) {
  Batch shorter = random_rows(spec_, 5, 1);
  shorter.keys.pop_back(), shorter.values.pop_back(), --shorter.row_begin.back();
  EXPECT_EQ(model_->validate(shorter).message(), "row 0 of a batch is not the 16 bytes that model gpt takes");
  Batch half = random_rows(spec_, 5, 2);
  half.values[20] = 7.5f;
  EXPECT_EQ(model_->validate(half).code(), Code::kData);
  half.values[20] = 256;
  EXPECT_EQ(model_->validate(half).code(), Code::kData);
}

TEST_P(TextModelTest, TensorsBeginAsInNanoGpt) {
  const auto tables = model_->tables();
  ASSERT_EQ(tables.size(), 2u + 2 * 12 + 2);
  EXPECT_EQ(tables[0].name, "transformer.wte.weight");
  EXPECT_EQ(tables[2].name, "transformer.h.0.ln_1.weight");
  EXPECT_EQ(tables[2].init.kind, InitSpec::Kind::kConstant);
  EXPECT_EQ(tables[6].name, "transformer.h.0.attn.c_proj.weight");
  EXPECT_FLOAT_EQ(tables[6].init.scale, 0.01f);
  EXPECT_EQ(tables[27].name, "transformer.ln_f.bias");
}

TEST(TorchModel, ScoresOfClassesAreTheLikeliestOnes) {
  ModelSpec spec = spec_of("softmax", Loss::kClasses);
  spec.inputs = 2;
  const auto model = thalweg_dense_component()->make(spec);
  const std::vector<float> weights = {1, 0, 0, 1, -1, -1}, bias = {0, 0, 0.5f};
  Batch raw;
  raw.keys = {0, 1};
  raw.row_begin = {0, 1, 2, 2};
  raw.labels = {0, 0, 2};
  LocalBatch batch;
  batch.keep(raw);
  std::vector<float> scores(3);
  const LossSum sum = model->forward(batch, std::vector<std::span<const float>>{weights, bias}, scores);
  EXPECT_EQ(scores, (std::vector<float>{0, 1, 2}));
  const double e = std::exp(1.0), r = std::exp(-0.5), b = std::exp(0.5);
  EXPECT_NEAR(sum.loss, -std::log(e / (e + 1 + r)) - std::log(1 / (1 + e + r)) - std::log(b / (2 + b)), 1e-5);
}

TEST(TorchModel, FeaturesBeyondTheInputsAreRefused) {
  const auto model = thalweg_dense_component()->make(spec_of("mlp", Loss::kClasses));
  Batch batch = random_rows(spec_of("mlp", Loss::kClasses), 1, 2);
  batch.keys.back() = 16;
  EXPECT_EQ(model->validate(batch).message(), "row 1 of a batch has feature 16; model mlp takes 0 to 15");
}

TEST(TorchModel, LabelsThatAreNoClassDoNotKeepRowsFromBeingScored) {
  const ModelSpec spec = spec_of("softmax", Loss::kClasses);
  const auto model = thalweg_dense_component()->make(spec);
  Batch raw = random_rows(spec, 1, 3);
  raw.labels = {-1, 9, std::numeric_limits<float>::quiet_NaN()};
  LocalBatch batch;
  batch.keep(raw);
  std::vector<float> weights(16 * 3, 0.1f), bias(3), scores(3);
  model->forward(batch, std::vector<std::span<const float>>{weights, bias}, scores);
  for (const float score : scores) EXPECT_LT(score, 3);
}

TEST(TorchModel, AConvnetTakesSquareImages) {
  ModelSpec spec = spec_of("convnet", Loss::kClasses);
  spec.inputs = 20;
  const Status status = thalweg_dense_component()->check(spec);
  EXPECT_EQ(status.code(), Code::kUsage);
  EXPECT_NE(status.message().find("rows of 20 numbers"), std::string::npos) << status.message();
}

TEST(TorchModel, TablesBeginUnlikeEachOther) {
  ModelSpec spec = spec_of("mlp", Loss::kClasses);
  spec.hidden = {16, 16};
  const auto tables = thalweg_dense_component()->make(spec)->tables();
  ASSERT_EQ(tables.size(), 6u);
  EXPECT_EQ(tables[0].name, "0.weight");
  EXPECT_EQ(tables[5].name, "4.bias");
  EXPECT_NE(tables[0].init.seed, tables[2].init.seed);
  EXPECT_EQ(tables[0].init.scale, 0.25f);
}

}  // namespace
}  // namespace thalweg
