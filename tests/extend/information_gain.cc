// Relative information gain (Graepel et al. 2010, "Web-Scale Bayesian Click-Through Rate Prediction"): the
// part by which features lower the logloss of the mean label as every row's prediction, so above 0 where they
// help.
#include "model/metric/metric.h"

namespace thalweg {
namespace {

double information_gain(const Measured& rows) { return 1 - kLogLoss.of(rows) / kLogLoss.constant(rows); }

}  // namespace

extern constinit const Metric kInformationGain = {
    .name = "information_gain",
    .summary = "part by which logloss is below that of the mean label",
    .logistic = Told::kEachPass,
    .of = information_gain,
};

}  // namespace thalweg
