#include "model/metric/metric.h"

namespace thalweg {
namespace {

double accuracy_of(const Measured& rows) { return mean_of(rows.sums.correct, rows); }

}  // namespace

extern constinit const Metric kAccuracy = {
    .name = "accuracy",
    .summary = "part of the rows that are of the class predicted, or on the right side of 0.5",
    .logistic = Told::kEval,
    .classes = Told::kEachPass,
    .of = accuracy_of,
};

}  // namespace thalweg
