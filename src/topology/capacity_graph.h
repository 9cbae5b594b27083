// Ranks joined by direct cables, as packings of rings and trees see them.
#pragma once

#include <cstdint>
#include <vector>

#include "topology/topology.h"

namespace thalweg {

// Undirected. What passes each way at once, in any one unit: bytes per second where it comes from a topology.
struct CapacityEdge {
  std::uint32_t a = 0;
  std::uint32_t b = 0;
  double capacity = 0;
};

// The direct cables between ranks by (a, b), a < b: the lesser of a cable's two directions, and half of what
// a shared cable has, since sums go one way and results the other.
std::vector<CapacityEdge> direct_edges(const Topology& topology);

}  // namespace thalweg
