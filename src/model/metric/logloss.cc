#include <cmath>

#include "model/metric/metric.h"

namespace thalweg {
namespace {

double logloss_of(const Measured& rows) { return mean_of(rows.sums.loss, rows); }

double entropy(double share) { return share == 0 ? 0 : -share * std::log(share); }

double constant_logloss(const Measured& rows) {
  const double share = mean_of(rows.sums.label, rows);
  return entropy(share) + entropy(1 - share);
}

double untrained_logloss(const Measured&) { return std::log(2.0); }

double logloss_of_mean(double mean) { return mean; }

}  // namespace

extern constinit const Metric kLogLoss = {
    .name = "logloss",
    .summary = "mean of -log(probability of the label)",
    .logistic = Told::kEachPass,
    .classes = Told::kEachPass,
    .of = logloss_of,
    .constant = constant_logloss,
    .untrained = untrained_logloss,
    .of_mean_loss = logloss_of_mean,
};

}  // namespace thalweg
