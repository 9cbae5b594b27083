#include "staleness/clocks.h"

#include <algorithm>

#include "base/check.h"

namespace thalweg {

Clocks::Clocks(std::uint32_t shards) : clocks_(shards) {
  THALWEG_CHECK(shards > 0, "a job has at least one data shard");
}

void Clocks::advance(ShardId shard, Step clock) {
  Step& own = clocks_[shard.value];
  THALWEG_CHECK(clock >= own, "clocks never go back");
  const bool was_slowest = own == slowest_;
  own = clock;
  if (was_slowest) slowest_ = *std::min_element(clocks_.begin(), clocks_.end());
}

Step Clocks::slowest_but(std::uint32_t late) const {
  std::vector<Step> sorted = clocks_;
  const auto nth = sorted.begin() + std::min<std::ptrdiff_t>(late, std::ssize(sorted) - 1);
  std::nth_element(sorted.begin(), nth, sorted.end());
  return *nth;
}

bool Clocks::any_past(Step step) const {
  return std::any_of(clocks_.begin(), clocks_.end(),
                     [step](Step clock) { return clock.epoch == step.epoch && clock.index > step.index; });
}

std::uint32_t Clocks::lead(Step step) const {
  if (slowest_ >= step) return 0;
  return slowest_.epoch == step.epoch ? step.index - slowest_.index : step.index;
}

}  // namespace thalweg
