#include "model/softmax_regression.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "base/random.h"

namespace thalweg {
namespace {

constexpr std::uint32_t kClassCount = 5;

class SoftmaxRegressionTest : public ::testing::Test {
 protected:
  SoftmaxRegressionTest() {
    spec_.loss = Loss::kClasses;
    spec_.classes = kClassCount;
    model_ = make_model(spec_).value();
    Random random(11);
    Batch batch;
    for (int r = 0; r < 40; ++r) {
      batch.labels.push_back(static_cast<float>(random.below(kClassCount)));
      batch.weights.push_back(static_cast<float>(0.5 + random.unit()));
      for (std::size_t e = 0; e < 1 + random.below(6); ++e) {
        batch.keys.push_back(random.below(20));
        batch.values.push_back(static_cast<float>(random.normal()));
      }
      batch.row_begin.push_back(static_cast<std::uint32_t>(batch.keys.size()));
    }
    KeyIndex index;
    batch_.assign(batch, index);
    scores_.resize(batch_.size());
    bias_.resize(kClassCount), weights_.resize(batch_.keys().size() * kClassCount);
    for (std::vector<float>* table : {&bias_, &weights_}) {
      for (float& value : *table) value = static_cast<float>(random.normal());
    }
  }
  LossSum forward() {
    const std::vector<std::span<const float>> rows = {bias_, weights_};
    return model_->forward(batch_, rows, scores_);
  }
  // By the definition, in double; the classes that are predicted go to `best`.
  double exact_loss(std::vector<float>& best) const {
    double sum = 0;
    const Batch& rows = batch_.rows();
    for (std::size_t r = 0; r < batch_.size(); ++r) {
      std::vector<double> scores(bias_.begin(), bias_.end());
      for (std::size_t e = rows.row_begin[r]; e < rows.row_begin[r + 1]; ++e) {
        for (std::size_t c = 0; c < kClassCount; ++c)
          scores[c] += static_cast<double>(weights_[batch_.local()[e] * kClassCount + c]) *
                       static_cast<double>(rows.values[e]);
      }
      double all = 0;
      std::size_t top = 0;
      for (std::size_t c = 0; c < kClassCount; ++c) {
        all += std::exp(scores[c]);
        if (scores[c] > scores[top]) top = c;
      }
      best.push_back(static_cast<float>(top));
      const double own = scores[static_cast<std::size_t>(rows.labels[r])];
      sum += static_cast<double>(rows.weights[r]) * (std::log(all) - own);
    }
    return sum;
  }

  ModelSpec spec_;
  std::unique_ptr<Model> model_;
  LocalBatch batch_;
  std::vector<float> scores_, bias_, weights_;
};

TEST_F(SoftmaxRegressionTest, ARowHasAFloatAClass) {
  const std::vector<TableSpec> tables = model_->tables();
  ASSERT_EQ(tables.size(), 2u);
  EXPECT_EQ(tables[0].dim, kClassCount);
  EXPECT_EQ(tables[0].rows, 1u);
  EXPECT_EQ(tables[1].dim, kClassCount);
  EXPECT_EQ(tables[1].kind, TableSpec::Kind::kSparse);
}

TEST_F(SoftmaxRegressionTest, LossAndClassesAreThoseOfTheDefinition) {
  std::vector<float> best;
  const double exact = exact_loss(best);
  const LossSum sum = forward();
  EXPECT_NEAR(sum.loss, exact, 1e-5 * exact);
  EXPECT_EQ(scores_, best);
  EXPECT_EQ(sum.rows, batch_.size());
}

TEST_F(SoftmaxRegressionTest, GradientsAgreeWithFiniteDifferences) {
  std::vector<float> bias_grads(bias_.size()), weight_grads(weights_.size());
  const std::vector<std::span<const float>> rows = {bias_, weights_};
  const std::vector<std::span<float>> grads = {bias_grads, weight_grads};
  const LossSum sum = model_->gradient(batch_, rows, scores_, grads);
  EXPECT_EQ(sum.loss, forward().loss);
  const auto check = [&](std::vector<float>& values, const std::vector<float>& got) {
    for (std::size_t i = 0; i < values.size(); i += 3) {
      constexpr float kStep = 1e-2f;
      const float before = values[i];
      std::vector<float> ignored;
      values[i] = before + kStep;
      const double above = exact_loss(ignored);
      values[i] = before - kStep;
      const double below = exact_loss(ignored);
      values[i] = before;
      ASSERT_NEAR(static_cast<double>(got[i]), (above - below) / (2 * static_cast<double>(kStep)), 2e-3) << i;
    }
  };
  check(bias_, bias_grads);
  check(weights_, weight_grads);
}

TEST_F(SoftmaxRegressionTest, ScoresOfAnySizeAreSafeAndNoNumberIsTold) {
  bias_[2] = 1e30f;
  EXPECT_TRUE(std::isfinite(forward().loss));
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    for (const std::size_t at : {0u, 2u}) {
      const float before = bias_[at];
      bias_[at] = bad;
      EXPECT_FALSE(std::isfinite(forward().loss)) << bad << ' ' << at;
      bias_[at] = before;
    }
  }
}

TEST_F(SoftmaxRegressionTest, ClassesHaveBounds) {
  for (const std::uint32_t classes : {0u, 1u, 4097u}) {
    spec_.classes = classes;
    EXPECT_EQ(make_model(spec_).status().code(), Code::kUsage) << classes;
  }
}

}  // namespace
}  // namespace thalweg
