#include "staleness/vector_clock.h"

#include <algorithm>

namespace thalweg {

std::uint64_t VectorClock::at(Actor actor) const {
  const auto found = entries_.find(actor);
  return found == entries_.end() ? 0 : found->second;
}

void VectorClock::see(Actor actor, std::uint64_t count) {
  if (count == 0) return;
  std::uint64_t& seen = entries_[actor];
  seen = std::max(seen, count);
}

void VectorClock::merge(const VectorClock& other) {
  for (const auto& [actor, count] : other.entries_) see(actor, count);
}

bool VectorClock::covers(const VectorClock& other) const {
  return std::ranges::all_of(other.entries_,
                             [&](const auto& entry) { return at(entry.first) >= entry.second; });
}

ClockOrder compare(const VectorClock& a, const VectorClock& b) {
  const bool a_covers = a.covers(b), b_covers = b.covers(a);
  if (a_covers) return b_covers ? ClockOrder::kSame : ClockOrder::kAfter;
  return b_covers ? ClockOrder::kBefore : ClockOrder::kConcurrent;
}

}  // namespace thalweg
