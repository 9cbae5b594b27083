#include "model/metric/metric_sums.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "model/loss_kernels.h"
#include "model/metric/pair_sum.h"
#include "model/metric/precision_sum.h"

namespace thalweg {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Points of one score after another to `sum`.
template <class Point, class Sum>
void add_groups(Point point, Point end, Sum& sum) {
  while (point != end) {
    double group[2] = {0, 0};
    const float score = point->score;
    for (; point != end && point->score == score; ++point) {
      group[point->positive] += static_cast<double>(point->weight);
    }
    sum.add_group(group[1], group[0]);
  }
}

}  // namespace

std::span<const ExactAuc::Point> ExactAuc::sorted() {
  const auto lower = [](const Point& a, const Point& b) { return a.score < b.score; };
  if (!is_sorted_) std::sort(points_.begin(), points_.end(), lower);
  is_sorted_ = true;
  return points_;
}

double ExactAuc::value() {
  if (has_nan_) return kNan;
  PairSum pairs;
  const auto points = sorted();
  add_groups(points.begin(), points.end(), pairs);
  return pairs.value();
}

double ExactAuc::average_precision() {
  if (has_nan_) return kNan;
  PrecisionSum precision;
  const auto points = sorted();
  add_groups(points.rbegin(), points.rend(), precision);
  return precision.value();
}

void AucHistogram::add(float score, bool positive, float weight) {
  const float scaled = (score + 16.0f) * 128.0f;
  const float bounded = scaled > 0.0f ? std::min(scaled, static_cast<float>(kBins - 1)) : 0.0f;
  (positive ? positive_ : negative_)[static_cast<std::size_t>(bounded)] += static_cast<double>(weight);
}

double AucHistogram::value() const {
  PairSum pairs;
  for (std::size_t i = 0; i < positive_.size(); ++i) pairs.add_group(positive_[i], negative_[i]);
  return pairs.value();
}

void MetricSums::add(std::span<const float> scores, std::span<const float> labels,
                     std::span<const float> weights) {
  const LossSum sum = sum_losses(loss_, scores, labels, weights, {});
  sums_.rows += sum.rows;
  sums_.weight += sum.weight;
  sums_.loss += sum.loss;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const double weight = weights.empty() ? 1.0 : static_cast<double>(weights[i]);
    const double prediction = static_cast<double>(predict(loss_, scores[i]));
    const bool positive = labels[i] > 0.0f;
    const double label = loss_ == Loss::kLogistic ? (positive ? 1.0 : 0.0) : static_cast<double>(labels[i]);
    sums_.prediction += weight * prediction;
    sums_.label += weight * label;
    sums_.label_square += weight * label * label;
    sums_.square += weight * (prediction - label) * (prediction - label);
    sums_.absolute += weight * std::abs(prediction - label);
    if (loss_ == Loss::kPoisson && positive) sums_.label_log += weight * label * log_kernel(label);
    if ((scores[i] > 0.0f) == positive) sums_.correct += weight;
  }
}

void MetricSums::add_classes(const LossSum& sum, std::span<const float> scores, std::span<const float> labels,
                             std::span<const float> weights) {
  sums_.rows += sum.rows;
  sums_.weight += sum.weight;
  sums_.loss += sum.loss;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (scores[i] == labels[i]) sums_.correct += weights.empty() ? 1.0 : static_cast<double>(weights[i]);
  }
}

void MetricSums::merge(const MetricSums& other) {
  THALWEG_CHECK(loss_ == other.loss_, "metrics of one loss");
  sums_.rows += other.sums_.rows;
  sums_.weight += other.sums_.weight;
  sums_.loss += other.sums_.loss;
  sums_.square += other.sums_.square;
  sums_.correct += other.sums_.correct;
  sums_.prediction += other.sums_.prediction;
  sums_.label += other.sums_.label;
  sums_.label_square += other.sums_.label_square;
  sums_.absolute += other.sums_.absolute;
  sums_.label_log += other.sums_.label_log;
}

}  // namespace thalweg
