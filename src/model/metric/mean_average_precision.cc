// Equal scores in each order alike: McSherry and Najork 2008, "Computing Information Retrieval Performance
// Measures Efficiently in the Presence of Tied Scores".
#include <algorithm>
#include <limits>

#include "model/metric/group_metric.h"

namespace thalweg {
namespace {

// Of n rows with equal scores, r of them positive, each is positive at a place with chance r / n, and then
// each of the i before it with chance (r - 1) / (n - 1).
double precision_of_group(std::span<const GroupRow> rows, std::size_t k) {
  std::size_t positives = 0;
  for (const GroupRow& row : rows) positives += row.label > 0 ? 1 : 0;
  if (positives == 0) return std::numeric_limits<double>::quiet_NaN();
  double sum = 0, before = 0;
  for (std::size_t begin = 0; begin < std::min(k, rows.size());) {
    const std::size_t end = end_of_ties(rows, begin);
    const auto size = static_cast<double>(end - begin);
    double hits = 0;
    for (std::size_t i = begin; i < end; ++i) hits += rows[i].label > 0 ? 1 : 0;
    const double other = size > 1 ? (hits - 1) / (size - 1) : 0;
    for (std::size_t i = begin; i < std::min(k, end); ++i) {
      const double seen = before + 1 + static_cast<double>(i - begin) * other;
      sum += hits / size * seen / static_cast<double>(i + 1);
    }
    before += hits;
    begin = end;
  }
  return sum / static_cast<double>(std::min(k, positives));
}

}  // namespace

extern constinit const GroupMetric kMeanAveragePrecision = {
    .name = "map",
    .summary = "average precision of a group's first k rows",
    .at_k = true,
    .of = precision_of_group,
};

}  // namespace thalweg
