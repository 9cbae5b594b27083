#include "model/metric/metric.h"

namespace thalweg {
namespace {

double calibration_of(const Measured& rows) {
  return rows.sums.label != 0.0 ? rows.sums.prediction / rows.sums.label
                                : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

extern constinit const Metric kCalibration = {
    .name = "calibration",
    .summary = "mean prediction divided by mean label",
    .logistic = Told::kTrain,
    .squared = Told::kTrain,
    .poisson = Told::kTrain,
    .of = calibration_of,
};

}  // namespace thalweg
