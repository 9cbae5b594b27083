// He et al. 2014, "Practical Lessons from Predicting Clicks on Ads at Facebook": below 1 where the
// features help, whatever the share of positive rows.
#include "model/metric/metric.h"

namespace thalweg {
namespace {

double normalized_entropy_of(const Measured& rows) { return kLogLoss.of(rows) / kLogLoss.constant(rows); }

}  // namespace

extern constinit const Metric kNormalizedEntropy = {
    .name = "normalized_entropy",
    .summary = "logloss divided by that of the mean label as every row's prediction",
    .logistic = Told::kTrain,
    .of = normalized_entropy_of,
};

}  // namespace thalweg
