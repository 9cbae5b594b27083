// Where the keys of several ranks are cut into ranges of about as many each: by regular samples of each
// rank's own (H. Shi, J. Schaeffer, "Parallel sorting by regular sampling", JPDC 1992), so that no matter how
// keys are spread, no rank is sent more than 1 + ranks/samples times its share.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace thalweg {

constexpr std::size_t key_samples(std::uint32_t ranks) {
  return std::min<std::size_t>(4 * std::size_t{ranks}, 256);
}

inline std::vector<std::uint64_t> sample_keys(std::span<const std::uint64_t> keys, std::size_t samples) {
  std::vector<std::uint64_t> taken(samples);
  for (std::size_t i = 0; i < samples && !keys.empty(); ++i)
    taken[i] = keys[(2 * i + 1) * keys.size() / (2 * samples)];
  return taken;
}

// The first key of each range but the first; `samples`: of one rank after the other, which has counts[rank]
// keys.
inline std::vector<std::uint64_t> split_keys(std::span<const std::uint64_t> samples,
                                             std::span<const std::uint64_t> counts) {
  const std::size_t each = samples.size() / counts.size();
  std::vector<std::pair<std::uint64_t, std::uint64_t>> weighed;
  std::uint64_t total = 0;
  for (std::size_t rank = 0; rank < counts.size(); ++rank) {
    if (counts[rank] == 0) continue;
    for (std::size_t i = 0; i < each; ++i) weighed.emplace_back(samples[rank * each + i], counts[rank]);
    total += counts[rank] * each;
  }
  std::sort(weighed.begin(), weighed.end());
  std::vector<std::uint64_t> splits;
  std::uint64_t below = 0;
  for (const auto& [key, weight] : weighed) {
    while (splits.size() + 1 < counts.size() && below >= total / counts.size() * (splits.size() + 1))
      splits.push_back(key);
    below += weight;
  }
  splits.resize(counts.size() - 1, weighed.empty() ? 0 : weighed.back().first);
  return splits;
}

}  // namespace thalweg
