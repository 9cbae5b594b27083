#include "model/metric/metric.h"

namespace thalweg {
namespace {

double auc_of(const Measured& rows) { return rows.auc; }

}  // namespace

extern constinit const Metric kAuc = {
    .name = "auc",
    .summary = "area under the ROC curve; equal scores count half",
    .logistic = Told::kEachPass,
    .of = auc_of,
};

}  // namespace thalweg
