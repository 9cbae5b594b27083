#include "model/metric/metric.h"

namespace thalweg {
namespace {

double mean_prediction_of(const Measured& rows) { return mean_of(rows.sums.prediction, rows); }

}  // namespace

extern constinit const Metric kMeanPrediction = {
    .name = "mean_prediction",
    .summary = "mean of predictions",
    .logistic = Told::kFields,
    .squared = Told::kFields,
    .poisson = Told::kFields,
    .of = mean_prediction_of,
};

}  // namespace thalweg
