// What the ranks of a group do together.
#pragma once

#include <cstddef>
#include <cstdint>

namespace thalweg {

// Every operation is about one vector of `count` elements; parts are those of it, one a rank.
enum class Operation : std::uint8_t {
  kAllReduce,      // In: all of it. Out: its sum, everywhere.
  kReduce,         // In: all of it. Out: its sum, at the root.
  kReduceScatter,  // In: all of it. Out: the sum of the rank's own part.
  kAllGather,      // In: the rank's own part. Out: all parts, everywhere.
  kBroadcast,      // In: all of it, at the root. Out: the same, everywhere.
  kGather,         // In: the rank's own part. Out: all parts, at the root.
  kScatter,        // In: all parts, at the root. Out: the rank's own part.
  kAllToAll,       // In: a part for each rank. Out: a part from each rank.
  kBarrier,        // Nobody leaves before all have come.
  kPointToPoint,   // From the root to `peer`.
  kNeighbours,     // In: all of it. Out: all of each neighbour's, one behind the other.
};
inline constexpr std::size_t kOperations = 11;

}  // namespace thalweg
