// The sum under every area under a ROC curve.
#pragma once

#include <limits>

namespace thalweg {

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
  // NaN without a positive or without a negative row.
  double value() const {
    return positives > 0 && below > 0 ? right / (positives * below)
                                      : std::numeric_limits<double>::quiet_NaN();
  }
};

}  // namespace thalweg
