// Whether predictions are as high as what comes: mean prediction and mean label by bins of predictions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "model/metric/metric_sums.h"

namespace thalweg {

struct ReliabilityBin {
  std::uint64_t rows = 0;
  double weight = 0;
  double prediction = 0;  // Means by weight.
  double label = 0;
};

// At most `count` bins of equally many rows, by ascending prediction, of raw scores of logistic loss; rows of
// one score are in one bin. None where a score is NaN.
std::vector<ReliabilityBin> reliability_bins(ExactAuc& rows, std::size_t count);

}  // namespace thalweg
