// Rings over direct cables that together use them best: an all-reduce sends a share of the bytes around each.
#pragma once

#include <cstdint>
#include <vector>

#include "thalweg/status.h"
#include "topology/capacity_graph.h"

namespace thalweg {

struct WeightedRing {
  std::vector<std::uint32_t> order;  // Every rank once, from 0 on.
  double weight = 0;                 // In the capacities' unit.
};

// At most four rings through all ranks, the heaviest first, the sum of whose weights on an edge is at most
// its capacity: those of most weight together, and of these the fewest. Each runs either way, or both ways at
// once. Exact where at most 4096 rings pass through all ranks, as on eight GPUs; else the best of the first
// so many. Two nodes need one edge. kUsage when there is no ring.
Result<std::vector<WeightedRing>> find_rings(std::uint32_t nodes, const std::vector<CapacityEdge>& edges);

}  // namespace thalweg
