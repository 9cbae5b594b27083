// How far the shards of answered pulls were ahead of the slowest one.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/counters.h"

namespace thalweg {

class Leads {
 public:
  void add(std::uint32_t steps) {
    most_ = std::max(most_, steps);
    sum_ += steps;
    ++pulls_[static_cast<std::size_t>(lead_counter(steps)) - kFirst];
  }
  std::uint32_t most() const { return most_; }
  void count_in(Counters& out) const {
    out.count(CounterId::kStalenessMax, most_);
    out.count(CounterId::kStalenessSum, sum_);
    for (std::size_t i = 0; i < pulls_.size(); ++i) {
      if (pulls_[i] > 0) out.count(CounterId{static_cast<std::uint16_t>(kFirst + i)}, pulls_[i]);
    }
  }

 private:
  static constexpr auto kFirst = static_cast<std::size_t>(CounterId::kLeadFirst);

  std::uint32_t most_ = 0;
  std::uint64_t sum_ = 0;
  std::array<std::uint64_t, kLeadCounters> pulls_{};
};

}  // namespace thalweg
