#include <cmath>

#include "model/metric/metric.h"

namespace thalweg {
namespace {

double deviance_of(const Measured& rows) { return 2 * mean_of(rows.sums.loss, rows); }

// Of y the mean of y ln(y).
double label_log(const Measured& rows) { return mean_of(rows.sums.label_log, rows); }

double constant_deviance(const Measured& rows) {
  const double mean = mean_of(rows.sums.label, rows);
  return 2 * (label_log(rows) - (mean > 0 ? mean * std::log(mean) : 0));
}

double untrained_deviance(const Measured& rows) {
  return 2 * (1 - mean_of(rows.sums.label, rows) + label_log(rows));
}

double deviance_of_mean(double mean) { return 2 * mean; }

}  // namespace

extern constinit const Metric kDeviance = {
    .name = "deviance",
    .summary = "mean Poisson deviance, 2 (y ln(y / prediction) - y + prediction)",
    .poisson = Told::kEachPass,
    .of = deviance_of,
    .constant = constant_deviance,
    .untrained = untrained_deviance,
    .of_mean_loss = deviance_of_mean,
};

}  // namespace thalweg
