// The sum under every average precision.
#pragma once

#include <limits>

namespace thalweg {

// Precision at the score of each positive row, by weight, as scores descend one group of equal scores at a
// time: sum over n of (recall n - recall n - 1) precision n, as scikit-learn's average_precision_score has
// it.
struct PrecisionSum {
  double positives = 0;
  double all = 0;
  double sum = 0;
  void add_group(double positive, double negative) {
    positives += positive;
    all += positive + negative;
    if (positive > 0) sum += positive * (positives / all);
  }
  double value() const {  // NaN without a positive row.
    return positives > 0 ? sum / positives : std::numeric_limits<double>::quiet_NaN();
  }
};

}  // namespace thalweg
