#include "model/metric/metric.h"

namespace thalweg {
namespace {

double pr_auc_of(const Measured& rows) { return rows.average_precision; }

}  // namespace

extern constinit const Metric kPrAuc = {
    .name = "pr_auc",
    .summary = "average precision: mean over the positive rows of the precision at their score",
    .logistic = Told::kTrain,
    .of = pr_auc_of,
};

}  // namespace thalweg
