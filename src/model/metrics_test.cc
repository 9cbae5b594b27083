#include "model/metrics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/random.h"

namespace thalweg {
namespace {

struct Point {
  float score;
  bool positive;
  float weight;
};

double naive_auc(const std::vector<Point>& points) {
  double right = 0, all = 0;
  for (const Point& p : points) {
    if (!p.positive) continue;
    for (const Point& n : points) {
      if (n.positive) continue;
      const double weight = static_cast<double>(p.weight) * static_cast<double>(n.weight);
      all += weight;
      right += weight * (p.score > n.score ? 1.0 : p.score == n.score ? 0.5 : 0.0);
    }
  }
  return right / all;
}

std::vector<Point> random_points(std::size_t count, double grid, Random& random) {
  std::vector<Point> points;
  for (std::size_t i = 0; i < count; ++i) {
    const bool positive = random.chance(0.3);
    const double score = std::round((random.normal() + (positive ? 1.0 : 0.0)) * grid) / grid;
    points.push_back({static_cast<float>(score), positive, static_cast<float>(random.unit() + 0.1)});
  }
  return points;
}

TEST(Auc, ExactEqualsCountingPairsWithTiesAndWeights) {
  Random random(5);
  for (const double grid : {1.0, 4.0, 1000.0}) {
    const std::vector<Point> points = random_points(400, grid, random);
    ExactAuc first, second;
    for (std::size_t i = 0; i < points.size(); ++i) {
      (i % 3 == 0 ? first : second).add(points[i].score, points[i].positive, points[i].weight);
    }
    first.merge(second);
    EXPECT_NEAR(first.value(), naive_auc(points), 1e-12);
  }
}

TEST(Auc, HistogramIsExactOnItsGridAndCloseOffIt) {
  Random random(6);
  for (const double grid : {16.0, 1e9}) {
    const std::vector<Point> points = random_points(2000, grid, random);
    AucHistogram first, second;
    for (std::size_t i = 0; i < points.size(); ++i) {
      (i % 2 == 0 ? first : second).add(points[i].score, points[i].positive, points[i].weight);
    }
    first.merge(second);
    EXPECT_NEAR(first.value(), naive_auc(points), grid < 100 ? 1e-12 : 1e-3);
  }
}

TEST(Auc, KnownValuesAndUndefinedOnes) {
  ExactAuc auc;
  EXPECT_TRUE(std::isnan(auc.value()));
  auc.add(0.1f, false), auc.add(0.4f, false), auc.add(0.35f, true), auc.add(0.8f, true);
  EXPECT_DOUBLE_EQ(auc.value(), 0.75);
  ExactAuc ties;
  ties.add(1, true), ties.add(1, false);
  EXPECT_DOUBLE_EQ(ties.value(), 0.5);
  AucHistogram far;
  far.add(-1e30f, false), far.add(1e30f, true);
  EXPECT_DOUBLE_EQ(far.value(), 1.0);
  far.add(std::nanf(""), true);
  EXPECT_LT(far.value(), 1.0);
}

TEST(Metrics, KnownValuesForLogistic) {
  Metrics metrics(Loss::kLogistic);
  const std::vector<float> scores = {0.0f, std::log(3.0f)}, labels = {0, 1}, weights = {1, 2};
  metrics.add(scores, labels, weights);
  const MetricValues values = metrics.values();
  EXPECT_EQ(values.rows, 2u);
  EXPECT_DOUBLE_EQ(values.weight, 3);
  EXPECT_NEAR(values.logloss, (std::log(2.0) + 2 * std::log(4.0 / 3)) / 3, 1e-6);
  EXPECT_DOUBLE_EQ(values.accuracy, 1.0);
  EXPECT_NEAR(values.mean_prediction, (0.5 + 2 * 0.75) / 3, 1e-6);
  EXPECT_NEAR(values.calibration, 1.0, 1e-6);
  EXPECT_NEAR(values.no_model, -(std::log(1.0 / 3) + 2 * std::log(2.0 / 3)) / 3, 1e-6);
  EXPECT_NEAR(values.rmse, std::sqrt((0.25 + 2 * 0.0625) / 3), 1e-6);
}

TEST(Metrics, PartsAddUpAndSquaredLossHasRmseOnly) {
  Metrics whole(Loss::kSquared), left(Loss::kSquared), right(Loss::kSquared);
  const std::vector<float> scores = {3, 4, 1}, labels = {1, 4, 2};
  whole.add(scores, labels);
  left.add(std::span(scores).first(1), std::span(labels).first(1));
  right.add(std::span(scores).last(2), std::span(labels).last(2));
  left.merge(right);
  EXPECT_DOUBLE_EQ(whole.values().rmse, std::sqrt(5.0 / 3));
  EXPECT_DOUBLE_EQ(left.values().rmse, whole.values().rmse);
  EXPECT_DOUBLE_EQ(whole.values().no_model, std::sqrt(14.0 / 9));
  EXPECT_DOUBLE_EQ(left.values().no_model, whole.values().no_model);
  EXPECT_DOUBLE_EQ(left.values().calibration, 8.0 / 7);
  EXPECT_TRUE(std::isnan(whole.values().logloss));
  EXPECT_TRUE(std::isnan(Metrics(Loss::kLogistic).values().logloss));
}

}  // namespace
}  // namespace thalweg
