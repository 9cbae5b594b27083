#include "model/metric/metric.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "model/metric/auc_counts.h"

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
    ExactAuc auc;
    for (const Point& point : points) auc.add(point.score, point.positive, point.weight);
    EXPECT_NEAR(auc.value(), naive_auc(points), 1e-12);
  }
}

TEST(Auc, CountsEqualTheExactToTheBitHoweverTheyAreMerged) {
  Random random(8);
  for (const double grid : {4.0, 1e9}) {
    const std::vector<Point> points = random_points(30000, grid, random);
    ExactAuc exact;
    AucCounts whole(1 << 16), first(1 << 16), second(1 << 16);
    for (std::size_t i = 0; i < points.size(); ++i) {
      const float score = i == 7 ? -0.0f : i == 8 ? 0.0f : points[i].score;
      exact.add(score, points[i].positive);
      whole.add(score, points[i].positive);
      (i % 3 == 0 ? first : second).add(score, points[i].positive);
    }
    second.merge(first);
    EXPECT_EQ(whole.bits_dropped(), 0u);
    EXPECT_EQ(whole.value(), exact.value());
    EXPECT_EQ(second.value(), exact.value());
  }
}

TEST(Auc, CountsOfTooManyScoresAreBoundedCloseAndTheSameForAnyParts) {
  constexpr std::size_t kCells = 2048;
  Random random(9);
  const std::vector<Point> points = random_points(50000, 1e9, random);
  ExactAuc exact;
  AucCounts whole(kCells), backwards(kCells);
  std::vector<AucCounts> parts(5, AucCounts(kCells));
  for (std::size_t i = 0; i < points.size(); ++i) {
    exact.add(points[i].score, points[i].positive);
    whole.add(points[i].score, points[i].positive);
    const Point& last = points[points.size() - 1 - i];
    backwards.add(last.score, last.positive);
    parts[i * i % parts.size()].add(points[i].score, points[i].positive);
  }
  AucCounts merged(kCells);
  for (const AucCounts& part : parts) merged.merge(part);
  const std::vector<AucCounts::Cell> cells(whole.cells().begin(), whole.cells().end());
  EXPECT_LE(cells.size(), kCells);
  EXPECT_GT(cells.size(), kCells / 4);
  for (AucCounts* other : {&backwards, &merged}) {
    EXPECT_TRUE(std::equal(cells.begin(), cells.end(), other->cells().begin(), other->cells().end()));
    EXPECT_EQ(other->bits_dropped(), whole.bits_dropped());
  }
  double positives = 0, negatives = 0, shared = 0;
  for (const AucCounts::Cell& cell : cells) {
    positives += cell.positive, negatives += cell.negative;
    shared += cell.positive * cell.negative;
  }
  const double bound = shared / 2 / (positives * negatives);
  EXPECT_LT(bound, 1e-3);
  EXPECT_NEAR(whole.value(), exact.value(), bound);
}

TEST(Auc, CountsWithoutOneLabelOrWithNoNumberHaveNoValue) {
  AucCounts counts(8);
  EXPECT_TRUE(std::isnan(counts.value()));
  for (int i = 0; i < 100; ++i) counts.add(static_cast<float>(i), true);
  EXPECT_TRUE(std::isnan(counts.value()));
  counts.add(-1, false);
  EXPECT_EQ(counts.value(), 1.0);
  AucCounts broken(8);
  broken.add(std::nanf(""), true);
  counts.merge(broken);
  EXPECT_TRUE(std::isnan(counts.value()));
  EXPECT_FALSE(counts.assign({{5, 1, 0}, {5, 0, 1}}, 0, false)) << "twice";
  EXPECT_FALSE(counts.assign({{5, 1, 0}}, 1, false)) << "a bit that is dropped";
  EXPECT_FALSE(counts.assign({{5, -1, 0}}, 0, false));
  EXPECT_FALSE(counts.assign({}, 32, false));
  EXPECT_TRUE(counts.assign({{5, 1, 0}, {6, 0, 1}}, 0, false));
  EXPECT_EQ(counts.value(), 0.0);
}

TEST(Auc, HistogramIsExactOnItsGridAndCloseOffIt) {
  Random random(6);
  for (const double grid : {16.0, 1e9}) {
    const std::vector<Point> points = random_points(2000, grid, random);
    AucHistogram auc;
    for (const Point& point : points) auc.add(point.score, point.positive, point.weight);
    EXPECT_NEAR(auc.value(), naive_auc(points), grid < 100 ? 1e-12 : 1e-3);
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

// The first is that of scikit-learn's page on average_precision_score: 1/2 * 1 + 1/2 * 2/3.
TEST(AveragePrecision, KnownValuesAndUndefinedOnes) {
  ExactAuc points;
  EXPECT_TRUE(std::isnan(points.average_precision()));
  points.add(0.1f, false), points.add(0.4f, false), points.add(0.35f, true), points.add(0.8f, true);
  EXPECT_DOUBLE_EQ(points.average_precision(), 5.0 / 6);
  EXPECT_DOUBLE_EQ(points.value(), 0.75);
  points.add(9, false, 2);
  EXPECT_DOUBLE_EQ(points.average_precision(), 0.5 / 3 + 0.5 * 2 / 5) << "2 before each";
  ExactAuc ties;
  ties.add(1, true), ties.add(1, false), ties.add(0, true);
  EXPECT_DOUBLE_EQ(ties.average_precision(), 0.5 / 2 + 0.5 * 2 / 3);
  ties.add(std::nanf(""), true);
  EXPECT_TRUE(std::isnan(ties.average_precision()));
}

TEST(AveragePrecision, CountsEqualTheExactHoweverTheyAreMerged) {
  Random random(18);
  ExactAuc exact;
  AucCounts first(1 << 12), second(1 << 12);
  for (const Point& point : random_points(3000, 100, random)) {
    exact.add(point.score, point.positive, point.weight);
    (random.chance(0.5) ? first : second).add(point.score, point.positive, point.weight);
  }
  first.merge(second);
  EXPECT_NEAR(first.average_precision(), exact.average_precision(), 1e-12);
}

double of(std::string_view name, Loss loss, const MetricSums& rows) {
  for (const Metric* metric : metrics()) {
    if (metric->name == name) return metric->value(loss, {rows.sums()});
  }
  ADD_FAILURE() << "no metric " << name;
  return 0;
}

// A report has one field a name.
TEST(Metrics, HaveNamesOfTheirOwnAndWords) {
  std::set<std::string_view> names;
  for (const Metric* metric : metrics()) {
    EXPECT_TRUE(names.insert(metric->name).second) << metric->name;
    EXPECT_FALSE(metric->summary.empty()) << metric->name;
  }
  for (const Loss loss : {Loss::kLogistic, Loss::kSquared}) {
    EXPECT_EQ(judging_metric(loss).told(loss), Told::kEachPass);
  }
}

TEST(Metrics, KnownValuesForLogistic) {
  MetricSums sums(Loss::kLogistic);
  const std::vector<float> scores = {0.0f, std::log(3.0f)}, labels = {0, 1}, weights = {1, 2};
  sums.add(scores, labels, weights);
  const Measured rows{sums.sums()};
  EXPECT_EQ(rows.sums.rows, 2u);
  EXPECT_DOUBLE_EQ(rows.sums.weight, 3);
  EXPECT_NEAR(of("logloss", Loss::kLogistic, sums), (std::log(2.0) + 2 * std::log(4.0 / 3)) / 3, 1e-6);
  EXPECT_DOUBLE_EQ(of("accuracy", Loss::kLogistic, sums), 1.0);
  EXPECT_NEAR(of("mean_prediction", Loss::kLogistic, sums), (0.5 + 2 * 0.75) / 3, 1e-6);
  EXPECT_NEAR(of("calibration", Loss::kLogistic, sums), 1.0, 1e-6);
  EXPECT_NEAR(kLogLoss.constant(rows), -(std::log(1.0 / 3) + 2 * std::log(2.0 / 3)) / 3, 1e-6);
  EXPECT_NEAR(of("normalized_entropy", Loss::kLogistic, sums),
              (std::log(2.0) + 2 * std::log(4.0 / 3)) / (std::log(3.0) + 2 * std::log(1.5)), 1e-6);
  EXPECT_NEAR(of("mae", Loss::kLogistic, sums), (0.5 + 2 * 0.25) / 3, 1e-6);
  EXPECT_NEAR(of("rmse", Loss::kLogistic, sums), std::sqrt((0.25 + 2 * 0.0625) / 3), 1e-6);
}

TEST(Metrics, PartsAddUpAndSquaredLossHasErrorsOnly) {
  MetricSums whole(Loss::kSquared), left(Loss::kSquared), right(Loss::kSquared);
  const std::vector<float> scores = {3, 4, 1}, labels = {1, 4, 2};
  whole.add(scores, labels);
  left.add(std::span(scores).first(1), std::span(labels).first(1));
  right.add(std::span(scores).last(2), std::span(labels).last(2));
  left.merge(right);
  EXPECT_DOUBLE_EQ(of("rmse", Loss::kSquared, whole), std::sqrt(5.0 / 3));
  EXPECT_DOUBLE_EQ(of("rmse", Loss::kSquared, left), of("rmse", Loss::kSquared, whole));
  EXPECT_DOUBLE_EQ(kRmse.constant({whole.sums()}), std::sqrt(14.0 / 9));
  EXPECT_DOUBLE_EQ(kRmse.constant({left.sums()}), kRmse.constant({whole.sums()}));
  EXPECT_DOUBLE_EQ(of("calibration", Loss::kSquared, left), 8.0 / 7);
  EXPECT_DOUBLE_EQ(of("mae", Loss::kSquared, whole), 1.0);
  EXPECT_DOUBLE_EQ(of("mae", Loss::kSquared, left), 1.0);
  EXPECT_TRUE(std::isnan(of("logloss", Loss::kSquared, whole)));
  EXPECT_TRUE(std::isnan(of("logloss", Loss::kLogistic, MetricSums(Loss::kLogistic))));
}

}  // namespace
}  // namespace thalweg
