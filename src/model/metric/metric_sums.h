// Quality of predictions: accumulators that add up over parts of the data.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "model/loss.h"

namespace thalweg {

// Area under the ROC curve, exact: equal scores count half. Memory grows with the rows (12 bytes each).
class ExactAuc {
 public:
  struct Point {
    float score;
    float weight;
    bool positive;
  };
  void add(float score, bool positive, float weight = 1.0f) {
    points_.push_back({score, weight, positive});
    has_nan_ = has_nan_ || std::isnan(score);
    is_sorted_ = false;
  }
  // NaN without a positive or without a negative row, and when a score was NaN.
  double value();
  double average_precision();  // NaN without a positive row, and when a score was NaN.
  // By ascending score. Precondition: !has_nan().
  std::span<const Point> sorted();
  bool has_nan() const { return has_nan_; }

 private:
  std::vector<Point> points_;
  bool has_nan_ = false;
  bool is_sorted_ = false;
};

// Approximate AUC in constant memory: rows are counted in 4,096 bins of the raw score (log-odds) from -16 to
// 16, so a bin is 1/128 wide and rare-event probabilities keep their resolution; scores outside go to the end
// bins. Rows in one bin count as ties, so the error is at most half the weight of pairs that share a bin.
class AucHistogram {
 public:
  AucHistogram() : positive_(kBins), negative_(kBins) {}
  void add(float score, bool positive, float weight = 1.0f);
  double value() const;  // NaN without a positive or without a negative row.

 private:
  static constexpr int kBins = 4096;
  std::vector<double> positive_;
  std::vector<double> negative_;
};

// What metrics are computed from, see metric.h.
class MetricSums {
 public:
  struct Sums {  // Over rows, by their weights.
    std::uint64_t rows = 0;
    double weight = 0;
    double loss = 0;
    double square = 0;  // Of the errors.
    double correct = 0;
    double prediction = 0;
    double label = 0;
    double label_square = 0;
    double absolute = 0;   // Of the errors.
    double label_log = 0;  // Label times its logarithm, of Poisson loss.
  };

  explicit MetricSums(Loss loss) : loss_(loss) {}
  MetricSums(Loss loss, const Sums& sums) : loss_(loss), sums_(sums) {}
  // Raw scores of a batch; `weights` empty when all are 1. Logistic labels count as 1 when > 0 and as 0
  // otherwise.
  void add(std::span<const float> scores, std::span<const float> labels, std::span<const float> weights = {});
  // Where losses are not of scores: `scores` are classes, `sum` the losses of these rows.
  void add_classes(const LossSum& sum, std::span<const float> scores, std::span<const float> labels,
                   std::span<const float> weights = {});
  void merge(const MetricSums& other);
  const Sums& sums() const { return sums_; }

 private:
  Loss loss_;
  Sums sums_;
};

}  // namespace thalweg
