#include "model/metric/metric.h"

// A new metric is a file that defines it, and its line here.
#define THALWEG_METRICS(METRIC) \
  METRIC(kAuc)                  \
  METRIC(kPrAuc)                \
  METRIC(kLogLoss)              \
  METRIC(kNormalizedEntropy)    \
  METRIC(kNatsPerByte)          \
  METRIC(kDeviance)             \
  METRIC(kRmse)                 \
  METRIC(kMae)                  \
  METRIC(kAccuracy)             \
  METRIC(kCalibration)          \
  METRIC(kMeanPrediction)       \
  METRIC(kMeanLabel)

namespace thalweg {

#define THALWEG_DECLARE_METRIC(name) extern const Metric name;
THALWEG_METRICS(THALWEG_DECLARE_METRIC)
#undef THALWEG_DECLARE_METRIC

MetricList metrics(const MetricList& more) {
#define THALWEG_LIST_METRIC(name) &name,
  MetricList list = {THALWEG_METRICS(THALWEG_LIST_METRIC)};
#undef THALWEG_LIST_METRIC
  list.insert(list.end(), more.begin(), more.end());
  return list;
}

const Metric& judging_metric(Loss loss) {
  if (loss == Loss::kPoisson) return kDeviance;
  return loss == Loss::kSquared ? kRmse : loss == Loss::kBytes ? kNatsPerByte : kLogLoss;
}

double mean_of(double sum, const Measured& rows) {
  return sum / (rows.sums.weight > 0 ? rows.sums.weight : std::numeric_limits<double>::quiet_NaN());
}

}  // namespace thalweg
