#include "train/report/train_costs.h"

#include <algorithm>

namespace thalweg {

std::vector<LedPulls> led_pulls(const Counters& counters) {
  std::vector<LedPulls> out;
  for (const auto& [id, pulls] : counters.values()) {
    if (id < CounterId::kLeadFirst || id > CounterId::kLeadLast) continue;
    const auto [least, most] = leads_of(id);
    out.push_back({least, most, pulls});
  }
  return out;
}

TrainCosts costs_of(const Counters& counters, std::uint64_t steps) {
  std::uint64_t pulls = 0;
  for (const LedPulls& some : led_pulls(counters)) pulls += some.pulls;
  TrainCosts out;
  out.steps = steps;
  out.bytes_pushed = counters[CounterId::kPushBytes];
  out.bytes_sent = counters[CounterId::kSentBytes];
  if (pulls > 0)
    out.staleness_mean = static_cast<double>(counters[CounterId::kStalenessSum]) / static_cast<double>(pulls);
  out.staleness_max = static_cast<std::uint32_t>(counters[CounterId::kStalenessMax]);
  return out;
}

std::uint32_t staleness_p99(const Counters& counters) {
  const std::vector<LedPulls> all = led_pulls(counters);
  std::uint64_t pulls = 0, below = 0;
  for (const LedPulls& some : all) pulls += some.pulls;
  const auto most = static_cast<std::uint32_t>(counters[CounterId::kStalenessMax]);
  for (const LedPulls& some : all) {
    below += some.pulls;
    if (below >= pulls - pulls / 100) return std::min(some.steps_max, most);
  }
  return 0;
}

}  // namespace thalweg
