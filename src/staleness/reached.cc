#include "staleness/reached.h"

#include <algorithm>

namespace thalweg {

void Reached::add(const Reached& other) {
  low = std::min(low, other.low);
  if (other.reach >= reach) ended = other.ended || (ended && other.reach == reach);
  reach = std::max(reach, other.reach);
}

// At the server where some shard had yet to end its pass no other had begun the next one, as all meet between
// them. Where nobody is known to have begun the earliest pass, its predecessor's end may not have been met
// at.
std::uint32_t first_open_pass(std::span<const Reached> shards) {
  if (shards.empty()) return 0;
  std::uint32_t earliest = ~0u, begun = 0;
  for (const Reached& shard : shards) {
    earliest = std::min(earliest, shard.low.epoch);
    begun = std::max(begun, shard.reach.epoch);
  }
  return std::min(earliest, begun);
}

}  // namespace thalweg
