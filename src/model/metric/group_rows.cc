#include "model/metric/group_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace thalweg {

void GroupRows::add(const GroupRow& row) {
  if (!keeps(row.group)) return;
  rows_.push_back(row);
  has_nan_ = has_nan_ || std::isnan(row.score);
  while (rows_.size() > rows_max_ && bits_ < 63) {
    ++bits_;
    std::erase_if(rows_, [&](const GroupRow& kept) { return !keeps(kept.group); });
  }
}

GroupRows::Measures GroupRows::measure(std::size_t k, const std::function<void(const OfGroup&)>& each) {
  const std::vector<const GroupMetric*> metrics = group_metrics();
  std::vector<double> sums(metrics.size()), weights(metrics.size());
  std::vector<double> values(metrics.size()), shares(metrics.size());
  Measures out{0, rows_.size(), std::exp2(-static_cast<double>(bits_))};
  if (!has_nan_) {
    std::sort(rows_.begin(), rows_.end(), [](const GroupRow& a, const GroupRow& b) {
      return a.group != b.group ? a.group < b.group : a.score > b.score;
    });
  }
  for (std::size_t begin = 0, end = 0; begin < rows_.size() && !has_nan_; begin = end) {
    double weight = 0;
    for (; end < rows_.size() && rows_[end].group == rows_[begin].group; ++end) {
      weight += static_cast<double>(rows_[end].weight);
    }
    ++out.groups;
    for (std::size_t m = 0; m < metrics.size(); ++m) {
      values[m] = metrics[m]->of(std::span(rows_).subspan(begin, end - begin), k);
      shares[m] = metrics[m]->by_weight ? weight : 1;
      if (std::isnan(values[m])) continue;
      sums[m] += shares[m] * values[m];
      weights[m] += shares[m];
    }
    if (each) each({rows_[begin].group, values, shares});
  }
  for (std::size_t m = 0; m < metrics.size(); ++m) {
    out.values.push_back(weights[m] > 0 ? sums[m] / weights[m] : std::numeric_limits<double>::quiet_NaN());
  }
  return out;
}

}  // namespace thalweg
