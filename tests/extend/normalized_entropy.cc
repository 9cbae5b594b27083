// Normalized entropy (He et al. 2014, "Practical Lessons from Predicting Clicks on Ads at Facebook"): the
// logloss over that of the mean label as every row's prediction, so below 1 where the features help.
#include "model/metric/metric.h"

namespace thalweg {
namespace {

double normalized_entropy(const Measured& rows) { return kLogLoss.of(rows) / kLogLoss.constant(rows); }

}  // namespace

extern constinit const Metric kNormalizedEntropy = {
    .name = "normalized_entropy",
    .summary = "logloss divided by that of the mean label",
    .logistic = Told::kEachPass,
    .of = normalized_entropy,
};

}  // namespace thalweg
