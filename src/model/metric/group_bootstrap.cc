#include "model/metric/group_bootstrap.h"

#include <cmath>

namespace thalweg {

GroupBootstrap::GroupBootstrap(std::size_t resamples, std::uint64_t seed)
    : seed_(seed), times_(resamples + 1), sums_(group_metrics().size()) {
  for (Sums& sums : sums_) sums.values.resize(times_.size()), sums.weights.resize(times_.size());
}

GroupRows::Measures GroupBootstrap::measure(GroupRows& rows, std::size_t k) {
  return rows.measure(k, [&](const GroupRows::OfGroup& group) {
    Random random = Random(seed_).split(group.group);
    draw_times(random, times_);
    for (std::size_t m = 0; m < sums_.size(); ++m) {
      if (std::isnan(group.values[m])) continue;
      for (std::size_t c = 0; c < times_.size(); ++c) {
        sums_[m].values[c] += times_[c] * group.shares[m] * group.values[m];
        sums_[m].weights[c] += times_[c] * group.shares[m];
      }
    }
  });
}

Spread GroupBootstrap::difference(const GroupBootstrap& first, std::size_t metric) const {
  const auto mean = [&](const Sums& sums, std::size_t c) { return sums.values[c] / sums.weights[c]; };
  std::vector<double> differences;
  for (std::size_t c = 0; c < times_.size(); ++c)
    differences.push_back(mean(sums_[metric], c) - mean(first.sums_[metric], c));
  return interval_of_distances(differences);
}

}  // namespace thalweg
