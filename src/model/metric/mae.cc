#include "model/metric/metric.h"

namespace thalweg {
namespace {

double mae_of(const Measured& rows) { return mean_of(rows.sums.absolute, rows); }

}  // namespace

extern constinit const Metric kMae = {
    .name = "mae",
    .summary = "mean of the absolute errors of predictions",
    .logistic = Told::kFields,
    .squared = Told::kTrain,
    .poisson = Told::kTrain,
    .of = mae_of,
};

}  // namespace thalweg
