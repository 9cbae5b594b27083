#include <algorithm>
#include <cmath>

#include "model/metric/metric.h"

namespace thalweg {
namespace {

double rmse_of(const Measured& rows) { return std::sqrt(mean_of(rows.sums.square, rows)); }

double constant_rmse(const Measured& rows) {
  const double mean = mean_of(rows.sums.label, rows);
  return std::sqrt(std::max(0.0, mean_of(rows.sums.label_square, rows) - mean * mean));
}

double untrained_rmse(const Measured& rows) {
  return std::hypot(constant_rmse(rows), mean_of(rows.sums.label, rows));
}

double rmse_of_mean(double mean) { return std::sqrt(2 * mean); }

}  // namespace

extern constinit const Metric kRmse = {
    .name = "rmse",
    .summary = "root of the mean squared error of predictions",
    .logistic = Told::kEval,
    .squared = Told::kEachPass,
    .poisson = Told::kEval,
    .of = rmse_of,
    .constant = constant_rmse,
    .untrained = untrained_rmse,
    .of_mean_loss = rmse_of_mean,
};

}  // namespace thalweg
