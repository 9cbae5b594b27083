// Jarvelin and Kekalainen 2002, "Cumulated gain-based evaluation of IR techniques", with the gain 2^label - 1
// of Burges et al. 2005; equal scores in each order alike: McSherry and Najork 2008, "Computing Information
// Retrieval Performance Measures Efficiently in the Presence of Tied Scores".
#include <algorithm>
#include <cmath>
#include <limits>

#include "model/metric/group_metric.h"

namespace thalweg {
namespace {

constexpr float kGainLabelMax = 31;  // As in XGBoost: beyond it one row is all that counts.

double gain(float label) { return std::exp2(static_cast<double>(label)) - 1; }

double discount(std::size_t place) { return 1 / std::log2(static_cast<double>(place) + 2); }

double ndcg_of_group(std::span<const GroupRow> rows, std::size_t k) {
  std::vector<float> labels;
  for (const GroupRow& row : rows) labels.push_back(row.label);
  std::sort(labels.begin(), labels.end(), std::greater<>());
  if (labels.front() > kGainLabelMax || labels.back() < 0) return std::numeric_limits<double>::quiet_NaN();
  double best = 0, sum = 0;
  for (std::size_t i = 0; i < std::min(k, rows.size()); ++i) best += gain(labels[i]) * discount(i);
  for (std::size_t begin = 0; begin < std::min(k, rows.size());) {
    const std::size_t end = end_of_ties(rows, begin);
    double gains = 0, discounts = 0;
    for (std::size_t i = begin; i < end; ++i) {
      gains += gain(rows[i].label);
      if (i < k) discounts += discount(i);
    }
    sum += gains / static_cast<double>(end - begin) * discounts;
    begin = end;
  }
  return best > 0 ? sum / best : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

extern constinit const GroupMetric kNdcg = {
    .name = "ndcg",
    .summary = "discounted gain 2^label - 1 of a group's first k rows divided by the best possible",
    .at_k = true,
    .of = ndcg_of_group,
};

}  // namespace thalweg
