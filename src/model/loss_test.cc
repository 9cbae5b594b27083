#include "model/loss.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/random.h"
#include "model/loss_kernels.h"

namespace thalweg {
namespace {

double exact_logistic(double margin) {
  return std::log1p(std::exp(-std::fabs(margin))) + std::max(0.0, -margin);
}

double row_loss(Loss loss, float score, float label) {
  return sum_losses(loss, {&score, 1}, {&label, 1}, {}, {}).loss;
}

TEST(Loss, ProbabilitiesAreAccurateAndKeepNan) {
  for (float x = -87.0f; x <= 0.0f; x += 0.00137f) {
    const double power = std::exp(static_cast<double>(x)), exact = power / (1 + power);
    ASSERT_NEAR(static_cast<double>(predict(Loss::kLogistic, x)), exact, 5e-7 * exact) << x;
  }
  EXPECT_EQ(predict(Loss::kLogistic, 0.0f), 0.5f);
  EXPECT_GT(predict(Loss::kLogistic, -1e30f), 0.0f);
  EXPECT_TRUE(std::isnan(predict(Loss::kLogistic, std::numeric_limits<float>::quiet_NaN())));
}

TEST(Loss, ManyArePredictedAsOneIs) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const Loss loss : {Loss::kLogistic, Loss::kPoisson, Loss::kSquared}) {
    std::vector<float> scores = {kInfinity, -kInfinity, 0.0f, -0.0f, std::nanf("")};
    for (float x = -100.0f; x <= 100.0f; x += 0.37f) scores.push_back(x);
    std::vector<float> many = scores;
    predict_all(loss, many);
    EXPECT_TRUE(std::isnan(many[4]) && !std::signbit(many[4]));
    for (std::size_t i = 0; i < scores.size(); ++i) {
      if (i != 4) {
        EXPECT_EQ(many[i], predict(loss, scores[i])) << scores[i];
      }
    }
  }
}

TEST(Loss, LogisticAgreesWithDoublesForScoresOfAnySize) {
  for (const float score :
       {-1e30f, -1000.0f, -88.0f, -20.0f, -3.5f, -1e-4f, 0.0f, 1e-6f, 0.7f, 5.0f, 30.0f, 90.0f, 1e9f}) {
    for (const float label : {-1.0f, 0.0f, 1.0f}) {
      const double margin = static_cast<double>(label > 0 ? score : -score);
      const double exact = exact_logistic(margin);
      ASSERT_NEAR(row_loss(Loss::kLogistic, score, label), exact, 1e-6 * exact + 2e-38)
          << score << ' ' << label;
    }
    const double p = 1.0 / (1.0 + std::exp(-static_cast<double>(score)));
    ASSERT_NEAR(static_cast<double>(predict(Loss::kLogistic, score)), p, 1e-6 * p + 2e-38) << score;
  }
}

TEST(Loss, PoissonIsHalfTheDevianceOfItsMean) {
  for (const float score : {-80.0f, -3.0f, -0.5f, 0.0f, 0.3f, 2.0f, 10.0f}) {
    const double mean = std::exp(static_cast<double>(score));
    ASSERT_NEAR(static_cast<double>(predict(Loss::kPoisson, score)), mean, 1e-6 * mean) << score;
    for (const float label : {0.0f, 0.5f, 1.0f, 7.0f, 1000.0f}) {
      const double y = static_cast<double>(label);
      const double exact = (y > 0 ? y * std::log(y / mean) : 0.0) - y + mean;
      ASSERT_NEAR(row_loss(Loss::kPoisson, score, label), exact, 1e-6 * (mean + y) + 1e-6 * exact)
          << score << ' ' << label;
      std::vector<float> slope(1);
      (void)sum_losses(Loss::kPoisson, {&score, 1}, {&label, 1}, {}, slope);
      ASSERT_NEAR(static_cast<double>(slope[0]), mean - y, 1e-6 * (mean + y));
    }
  }
  EXPECT_TRUE(std::isfinite(row_loss(Loss::kPoisson, 1000.0f, 3.0f)));
  for (const float bad : {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
                          std::numeric_limits<float>::quiet_NaN()}) {
    EXPECT_FALSE(std::isfinite(row_loss(Loss::kPoisson, bad, 0.0f))) << bad;
    EXPECT_FALSE(std::isfinite(row_loss(Loss::kPoisson, bad, 2.0f))) << bad;
  }
}

TEST(Loss, LogarithmsAreAccurate) {
  for (double x = 1e-6; x < 1e9; x *= 1.0137) ASSERT_NEAR(log_kernel(x), std::log(x), 1e-10) << x;
  EXPECT_EQ(log_kernel(1.0), 0.0);
}

TEST(Loss, SumsWeightedLossesAndSlopes) {
  Random random(3);
  for (const Loss loss : {Loss::kLogistic, Loss::kSquared, Loss::kPoisson}) {
    std::vector<float> scores, labels, weights;
    for (int i = 0; i < 1000; ++i) {
      scores.push_back(static_cast<float>(4 * random.normal()));
      labels.push_back(random.chance(0.3) ? 1.0f : 0.0f);
      weights.push_back(static_cast<float>(random.unit()));
    }
    std::vector<float> slopes(scores.size());
    const LossSum sum = sum_losses(loss, scores, labels, weights, slopes);
    double expected = 0, weight = 0;
    for (std::size_t i = 0; i < scores.size(); ++i) {
      const double w = static_cast<double>(weights[i]);
      expected += w * row_loss(loss, scores[i], labels[i]);
      weight += w;
      const double target = static_cast<double>(labels[i]);
      const double slope = w * (static_cast<double>(predict(loss, scores[i])) - target);
      ASSERT_NEAR(static_cast<double>(slopes[i]), slope, 2e-6 * std::max(1.0, std::fabs(slope)));
    }
    EXPECT_NEAR(sum.loss, expected, 1e-9 * expected);
    EXPECT_DOUBLE_EQ(sum.weight, weight);
    EXPECT_EQ(sum.rows, scores.size());
    const std::vector<float> ones(scores.size(), 1.0f);
    std::vector<float> same(scores.size());
    const LossSum plain = sum_losses(loss, scores, labels, {}, slopes);
    EXPECT_EQ(plain.loss, sum_losses(loss, scores, labels, ones, same).loss);
    EXPECT_EQ(slopes, same);
  }
}

TEST(Loss, ScoreThatIsNotFiniteShows) {
  const float inf = std::numeric_limits<float>::infinity();
  for (const float score : {inf, -inf, std::numeric_limits<float>::quiet_NaN()}) {
    for (const float label : {0.0f, 1.0f}) {
      EXPECT_FALSE(std::isfinite(row_loss(Loss::kLogistic, score, label)));
      EXPECT_FALSE(std::isfinite(row_loss(Loss::kSquared, score, label)));
    }
  }
}

}  // namespace
}  // namespace thalweg
