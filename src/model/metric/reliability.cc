#include "model/metric/reliability.h"

#include <algorithm>

namespace thalweg {

std::vector<ReliabilityBin> reliability_bins(ExactAuc& rows, std::size_t count) {
  std::vector<ReliabilityBin> bins;
  if (rows.has_nan()) return bins;
  const std::span<const ExactAuc::Point> points = rows.sorted();
  for (std::size_t b = 0, begin = 0; b < count; ++b) {
    std::size_t end = std::max(begin, points.size() * (b + 1) / count);
    while (end > begin && end < points.size() && points[end].score == points[end - 1].score) ++end;
    if (end == begin) continue;
    ReliabilityBin& bin = bins.emplace_back();
    bin.rows = end - begin;
    for (; begin < end; ++begin) {
      const auto weight = static_cast<double>(points[begin].weight);
      bin.weight += weight;
      bin.prediction += weight * static_cast<double>(predict(Loss::kLogistic, points[begin].score));
      if (points[begin].positive) bin.label += weight;
    }
    bin.prediction /= bin.weight;
    bin.label /= bin.weight;
  }
  return bins;
}

}  // namespace thalweg
