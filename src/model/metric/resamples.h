// Resamples of a bootstrap, drawn one row or group after another (Chamandy et al. 2012, "Estimating
// Uncertainty for Massive Data Streams"): in each, a row counts a Poisson-distributed number of times.
#pragma once

#include <span>

#include "base/random.h"

namespace thalweg {

// How often the next row or group counts: once in the sample, `times[0]`, drawn in the resamples behind it.
void draw_times(Random& random, std::span<double> times);

struct Spread {
  double low;
  double high;
};
// 95 % of the distances of what resamples have from what the sample, `by_column[0]`, has. Columns that are no
// number are left out; NaN without any.
Spread interval_of_distances(std::span<const double> by_column);

}  // namespace thalweg
