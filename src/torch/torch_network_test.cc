#include "thalweg/torch_network.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/random.h"
#include "model/dense/component.h"
#include "model/model.h"

extern "C" const thalweg::DenseComponent* thalweg_dense_component();

namespace thalweg {
namespace {

constexpr std::uint32_t kInputs = 3;
constexpr std::size_t kRows = 600;  // More than are computed on together.

// scores = W x + b, as the built-in softmax regression.
struct Linear : TorchNetwork {
  using TorchNetwork::TorchNetwork;
  std::int64_t outputs() const { return sizes().loss == Loss::kClasses ? sizes().classes : 1; }
  std::vector<DenseParameter> parameters() const override {
    return {{"weight", {outputs(), kInputs}}, {"bias", {outputs()}}};
  }
  at::Tensor forward(const std::vector<at::Tensor>& p, const at::Tensor& inputs) const override {
    return at::linear(inputs, p[0], p[1]);
  }
};

// A loss and a report of its own: how far a row is off, and twice its number.
struct AbsoluteError final : Linear {
  using Linear::Linear;
  at::Tensor losses(const at::Tensor& outputs, const at::Tensor& labels) const override {
    return (outputs.squeeze(1) - labels).abs();
  }
  at::Tensor scores(const at::Tensor& outputs) const override { return 2 * outputs.squeeze(1); }
};

struct Learnt {
  double loss = 0;
  std::vector<float> scores;
  std::vector<std::vector<float>> gradients;
};

struct Problem {
  explicit Problem(const DenseSizes& its) : sizes(its) {
    Random random(7);
    const auto draw = [&](std::vector<float>& to, std::size_t count) {
      for (std::size_t i = 0; i < count; ++i) to.push_back(static_cast<float>(random.normal()));
    };
    const std::size_t outputs = sizes.loss == Loss::kClasses ? sizes.classes : 1;
    draw(inputs, kRows * kInputs);
    draw(weight, outputs * kInputs);
    draw(bias, outputs);
    for (std::size_t r = 0; r < kRows; ++r) {
      labels.push_back(static_cast<float>(random.below(sizes.loss == Loss::kClasses ? sizes.classes : 2)));
      weights.push_back(0.5f + static_cast<float>(random.below(2)));
    }
  }
  std::vector<std::span<const float>> values() const { return {weight, bias}; }
  Learnt learn(DenseModel& model, bool with_gradients) const {
    // What was there must not count.
    Learnt out{0,
               std::vector<float>(kRows),
               {std::vector<float>(weight.size(), 9), std::vector<float>(bias.size(), 9)}};
    const std::vector<std::span<float>> gradients = {out.gradients[0], out.gradients[1]};
    const DenseRows rows{kRows, inputs, labels, weights};
    std::span<const std::span<float>> wanted;
    if (with_gradients) wanted = gradients;
    out.loss = model.learn(rows, values(), out.scores, wanted);
    return out;
  }

  const DenseSizes sizes;
  std::vector<float> inputs, labels, weights, weight, bias;
};

TEST(TorchNetworkTest, HasTheBitsOfABuiltInNetwork) {
  for (const Loss loss : {Loss::kClasses, Loss::kLogistic, Loss::kSquared}) {
    const DenseSizes sizes{
        .inputs = kInputs, .classes = loss == Loss::kClasses ? 4u : 0u, .loss = loss, .hidden = {}};
    const Problem problem(sizes);
    Linear own(sizes);
    const Learnt learnt = problem.learn(own, true);

    ModelSpec spec;
    spec.name = "softmax", spec.loss = loss, spec.inputs = kInputs, spec.classes = sizes.classes;
    const auto built_in = thalweg_dense_component()->make(spec);
    Batch batch;
    for (std::size_t r = 0; r < kRows; ++r) {
      for (std::uint32_t i = 0; i < kInputs; ++i) batch.keys.push_back(i);
      batch.row_begin.push_back(static_cast<std::uint32_t>(batch.keys.size()));
    }
    batch.values = problem.inputs, batch.labels = problem.labels, batch.weights = problem.weights;
    LocalBatch local;
    local.keep(batch);
    Learnt expected{0, std::vector<float>(kRows), learnt.gradients};
    const std::vector<std::span<float>> gradients = {expected.gradients[0], expected.gradients[1]};
    expected.loss = built_in->gradient(local, problem.values(), expected.scores, gradients).loss;
    EXPECT_NEAR(learnt.loss / expected.loss, 1, 1e-6);
    EXPECT_EQ(learnt.scores, expected.scores);
    EXPECT_EQ(learnt.gradients, expected.gradients);
  }
}

TEST(TorchNetworkTest, MayHaveALossAndAReportOfItsOwn) {
  const DenseSizes sizes{.inputs = kInputs, .loss = Loss::kSquared, .hidden = {}};
  const Problem problem(sizes);
  AbsoluteError own(sizes);
  const Learnt learnt = problem.learn(own, true);
  double loss = 0, of_bias = 0;
  for (std::size_t r = 0; r < kRows; ++r) {
    double number = static_cast<double>(problem.bias[0]);
    for (std::size_t i = 0; i < kInputs; ++i)
      number += static_cast<double>(problem.weight[i]) * static_cast<double>(problem.inputs[r * kInputs + i]);
    const double off = number - static_cast<double>(problem.labels[r]),
                 weight = static_cast<double>(problem.weights[r]);
    loss += weight * std::abs(off);
    of_bias += weight * (off > 0 ? 1 : -1);
    EXPECT_NEAR(static_cast<double>(learnt.scores[r]), 2 * number, 1e-5);
  }
  EXPECT_NEAR(learnt.loss, loss, 1e-3);
  EXPECT_NEAR(static_cast<double>(learnt.gradients[1][0]), of_bias, 1e-3);
}

TEST(TorchNetworkTest, ScoresWithoutGradientsWhateverTheLabels) {
  const DenseSizes sizes{.inputs = kInputs, .classes = 4, .hidden = {}};
  Problem problem(sizes);
  Linear own(sizes);
  const Learnt learnt = problem.learn(own, true);
  EXPECT_EQ(problem.learn(own, false).loss, learnt.loss);
  problem.labels.assign(kRows, std::numeric_limits<float>::quiet_NaN());
  const Learnt scored = problem.learn(own, false);
  EXPECT_EQ(scored.scores, learnt.scores);
  EXPECT_EQ(scored.gradients[1], std::vector<float>(4, 9));
}

}  // namespace
}  // namespace thalweg
