#include <gtest/gtest.h>

#include "base/temporary_folder_for_test.h"
#include "model/model_kind.h"
#include "thalweg/trainer.h"

namespace thalweg {

extern const ModelKind kSquareKind;

namespace {

// A click where two features agree, which no linear model can tell.
std::string equal_or_not(int count) {
  std::string text;
  for (int row = 0; row < count; ++row) {
    const int left = row % 2, right = row / 2 % 2;
    text +=
        (left == right ? "1 " : "0 ") + std::to_string(left + 1) + ":1 " + std::to_string(right + 3) + ":1\n";
  }
  return text;
}

TrainResult train(const std::string& file, const std::string& model, const std::string& out) {
  TrainerOptions options;
  options.files = {file};
  options.model = model;
  options.more.models = {&kSquareKind};
  if (model == "square") options.rank = 4;
  options.epochs = 5;
  options.batch = 40;
  options.out = out;
  auto trainer = Trainer::open(options);
  EXPECT_TRUE(trainer.ok()) << trainer.status().message();
  return trainer->run();
}

TEST(Model, OfAFileOfItsOwnTrainsByItsNameAndPredicts) {
  const TemporaryFolder folder;
  const std::string file = folder.write("rows.svm", equal_or_not(4000));
  const TrainResult linear = train(file, "lr", "");
  const TrainResult square = train(file, "square", folder / "model");
  ASSERT_TRUE(square.status.ok()) << square.status.message();
  EXPECT_GT(linear.train_loss, 0.6);
  EXPECT_LT(square.train_loss, 0.2);

  std::vector<float> predictions;
  const auto take = [&](float p) { predictions.push_back(p); };
  EXPECT_EQ(
      predict_rows(folder / "model", {file}, take).message(),
      (folder / "model") +
          ": model 'square' is unknown; expected lr, fm, ffm, deepfm, softmax, mlp, convnet, gpt or script");
  TrainParts more;
  more.models = {&kSquareKind};
  const Status predicted = predict_rows(folder / "model", {file}, take, more);
  ASSERT_TRUE(predicted.ok()) << predicted.message();
  ASSERT_EQ(predictions.size(), 4000u);
  EXPECT_GT(predictions[0], 0.8f);
  EXPECT_LT(predictions[1], 0.2f);
}

// Each gradient against the difference of two losses.
TEST(Model, OfAFileOfItsOwnHasTheGradientOfItsLoss) {
  ModelSpec spec;
  spec.name = "square";
  spec.rank = 2;
  spec.kinds = {&kSquareKind};
  const auto model = make_model(spec);
  ASSERT_TRUE(model.ok()) << model.status().message();
  Batch raw;
  raw.labels = {1, 0};
  raw.keys = {3, 9, 9};
  raw.values = {0.5f, 2, 1};
  raw.row_begin = {0, 2, 3};
  LocalBatch batch;
  KeyIndex index;
  batch.assign(raw, index);
  std::vector<float> bias = {0.1f}, weights = {0.2f, -0.3f}, factors = {0.4f, -0.5f, 0.6f, 0.7f};
  const std::vector<std::span<const float>> rows = {bias, weights, factors};
  std::vector<float> scores(2), of_bias(1), of_weights(2), of_factors(4);
  const std::vector<std::span<float>> grads = {of_bias, of_weights, of_factors};
  const double loss = (*model)->gradient(batch, rows, scores, grads).loss;
  for (std::size_t f = 0; f < factors.size(); ++f) {
    constexpr float kStep = 1e-2f;
    factors[f] += kStep;
    const double above = (*model)->forward(batch, rows, scores).loss;
    factors[f] -= 2 * kStep;
    const double below = (*model)->forward(batch, rows, scores).loss;
    factors[f] += kStep;
    EXPECT_NEAR((above - below) / (2 * kStep), of_factors[f], 1e-3) << f << " at " << loss;
  }
}

}  // namespace
}  // namespace thalweg
