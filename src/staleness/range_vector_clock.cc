#include "staleness/range_vector_clock.h"

#include <algorithm>
#include <iterator>

namespace thalweg {

std::uint64_t RangeVectorClock::time_at(const Times& times, Key key) {
  const auto after = times.upper_bound(key);
  return after == times.begin() ? 0 : std::prev(after)->second;
}

bool RangeVectorClock::see(std::uint32_t node, KeyInterval keys, std::uint64_t time) {
  if (keys.empty() || oldest(node, keys) >= time) return false;
  Times& times = nodes_[node];
  times.emplace(keys.begin, time_at(times, keys.begin));
  times.emplace(keys.end, time_at(times, keys.end));
  const auto end = times.find(keys.end);
  for (auto it = times.find(keys.begin); it != end; ++it) it->second = std::max(it->second, time);
  // Neighbours that have become alike are one range again.
  auto it = times.find(keys.begin);
  if (it != times.begin()) --it;
  for (std::uint64_t before = it == times.begin() ? 0 : std::prev(it)->second;
       it != times.end() && it->first <= keys.end;) {
    if (it->second == before) {
      it = times.erase(it);
    } else {
      before = it->second;
      ++it;
    }
  }
  return true;
}

std::uint64_t RangeVectorClock::at(std::uint32_t node, Key key) const {
  const auto found = nodes_.find(node);
  return found == nodes_.end() ? 0 : time_at(found->second, key);
}

std::uint64_t RangeVectorClock::oldest(std::uint32_t node, KeyInterval keys) const {
  const auto found = nodes_.find(node);
  if (found == nodes_.end() || keys.empty()) return 0;
  std::uint64_t least = time_at(found->second, keys.begin);
  for (auto it = found->second.upper_bound(keys.begin); it != found->second.end() && it->first < keys.end;
       ++it)
    least = std::min(least, it->second);
  return least;
}

void RangeVectorClock::merge(const RangeVectorClock& other) {
  for (const auto& [node, times] : other.nodes_) {
    for (auto it = times.begin(); it != times.end(); ++it) {
      const auto next = std::next(it);
      see(node, {it->first, next == times.end() ? kReservedKey : next->first}, it->second);
    }
  }
}

std::size_t RangeVectorClock::entries() const {
  std::size_t count = 0;
  for (const auto& [node, times] : nodes_) count += times.size();
  return count;
}

}  // namespace thalweg
