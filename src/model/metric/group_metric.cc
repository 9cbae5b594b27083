#include "model/metric/group_metric.h"

// A new metric of groups is a file that defines it, and its line here.
#define THALWEG_GROUP_METRICS(METRIC) \
  METRIC(kGroupAuc)                   \
  METRIC(kNdcg)                       \
  METRIC(kMeanAveragePrecision)

namespace thalweg {

#define THALWEG_DECLARE_GROUP_METRIC(name) extern const GroupMetric name;
THALWEG_GROUP_METRICS(THALWEG_DECLARE_GROUP_METRIC)
#undef THALWEG_DECLARE_GROUP_METRIC

std::vector<const GroupMetric*> group_metrics() {
#define THALWEG_LIST_GROUP_METRIC(name) &name,
  return {THALWEG_GROUP_METRICS(THALWEG_LIST_GROUP_METRIC)};
#undef THALWEG_LIST_GROUP_METRIC
}

std::size_t end_of_ties(std::span<const GroupRow> rows, std::size_t begin) {
  std::size_t end = begin;
  while (end < rows.size() && rows[end].score == rows[begin].score) ++end;
  return end;
}

}  // namespace thalweg
