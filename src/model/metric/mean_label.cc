#include "model/metric/metric.h"

namespace thalweg {
namespace {

double mean_label_of(const Measured& rows) { return mean_of(rows.sums.label, rows); }

}  // namespace

extern constinit const Metric kMeanLabel = {
    .name = "mean_label",
    .summary = "mean of labels",
    .logistic = Told::kFields,
    .squared = Told::kFields,
    .poisson = Told::kFields,
    .of = mean_label_of,
};

}  // namespace thalweg
