#include "model/metrics.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"

namespace thalweg {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Weight of (positive, negative) pairs in the right order, as scores ascend one group of equal scores at a
// time.
struct PairSum {
  double below = 0;  // Negative weight at lower scores.
  double positives = 0;
  double right = 0;
  void add_group(double positive, double negative) {
    right += positive * (below + 0.5 * negative);
    below += negative;
    positives += positive;
  }
  double value() const { return positives > 0 && below > 0 ? right / (positives * below) : kNan; }
};

double entropy(double share) { return share == 0 ? 0 : -share * std::log(share); }

}  // namespace

double ExactAuc::value() {
  for (const Point& point : points_) {
    if (std::isnan(point.score)) return kNan;
  }
  std::sort(points_.begin(), points_.end(), [](const Point& a, const Point& b) { return a.score < b.score; });
  PairSum pairs;
  for (std::size_t i = 0; i < points_.size();) {
    double group[2] = {0, 0};
    const float score = points_[i].score;
    for (; i < points_.size() && points_[i].score == score; ++i) {
      group[points_[i].positive] += static_cast<double>(points_[i].weight);
    }
    pairs.add_group(group[1], group[0]);
  }
  return pairs.value();
}

void AucHistogram::add(float score, bool positive, float weight) {
  const float scaled = (score + 16.0f) * 128.0f;
  const float bounded = scaled > 0.0f ? std::min(scaled, static_cast<float>(kBins - 1)) : 0.0f;
  (positive ? positive_ : negative_)[static_cast<std::size_t>(bounded)] += static_cast<double>(weight);
}

void AucHistogram::merge(const AucHistogram& other) {
  for (std::size_t i = 0; i < positive_.size(); ++i) {
    positive_[i] += other.positive_[i];
    negative_[i] += other.negative_[i];
  }
}

double AucHistogram::value() const {
  PairSum pairs;
  for (std::size_t i = 0; i < positive_.size(); ++i) pairs.add_group(positive_[i], negative_[i]);
  return pairs.value();
}

void Metrics::add(std::span<const float> scores, std::span<const float> labels,
                  std::span<const float> weights) {
  const LossSum sum = sum_losses(loss_, scores, labels, weights, {});
  rows_ += sum.rows;
  weight_ += sum.weight;
  loss_sum_ += sum.loss;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const double weight = weights.empty() ? 1.0 : static_cast<double>(weights[i]);
    const double prediction = static_cast<double>(predict(loss_, scores[i]));
    const bool positive = labels[i] > 0.0f;
    const double label = loss_ == Loss::kLogistic ? (positive ? 1.0 : 0.0) : static_cast<double>(labels[i]);
    prediction_ += weight * prediction;
    label_ += weight * label;
    label_square_ += weight * label * label;
    square_sum_ += weight * (prediction - label) * (prediction - label);
    if ((scores[i] > 0.0f) == positive) correct_ += weight;
  }
}

void Metrics::merge(const Metrics& other) {
  THALWEG_CHECK(loss_ == other.loss_, "metrics of one loss");
  rows_ += other.rows_;
  weight_ += other.weight_;
  loss_sum_ += other.loss_sum_;
  square_sum_ += other.square_sum_;
  correct_ += other.correct_;
  prediction_ += other.prediction_;
  label_ += other.label_;
  label_square_ += other.label_square_;
}

MetricValues Metrics::values() const {
  MetricValues out;
  const double n = weight_ > 0 ? weight_ : kNan;
  out.rows = rows_;
  out.weight = weight_;
  out.logloss = loss_ == Loss::kLogistic ? loss_sum_ / n : kNan;
  out.accuracy = loss_ == Loss::kLogistic ? correct_ / n : kNan;
  out.rmse = std::sqrt(square_sum_ / n);
  out.mean_prediction = prediction_ / n;
  out.mean_label = label_ / n;
  out.calibration = label_ != 0.0 ? prediction_ / label_ : kNan;
  out.no_model = loss_ == Loss::kLogistic
                     ? entropy(out.mean_label) + entropy(1 - out.mean_label)
                     : std::sqrt(std::max(0.0, label_square_ / n - out.mean_label * out.mean_label));
  return out;
}

}  // namespace thalweg
