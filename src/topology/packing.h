// Spanning trees that together use the direct cables between ranks best: an all-reduce sends a share of the
// bytes up and down each, all at once.
#pragma once

#include <cstdint>
#include <vector>

#include "thalweg/status.h"
#include "topology/capacity_graph.h"

namespace thalweg {

struct PackedTree {
  std::uint32_t root = 0;            // In the middle of the tree.
  std::vector<std::int32_t> parent;  // By rank; -1 for the root.
  double weight = 0;                 // In the capacities' unit.
};

struct TreePacking {
  std::vector<PackedTree> trees;  // The heaviest first.
  double rate = 0;  // The sum of their weights: an all-reduce of S bytes takes S / rate, pipelined.
};

// The packing of most weight in which no edge carries more than its capacity, with as few trees as come out
// of dropping one after another while at most a share of `may_lose` of that weight is lost. The weight is the
// bound of Tutte and Nash-Williams (1961) for fractional packings. After L. Wang, Li, Liberty and Smola,
// "Optimal message scheduling for aggregation" (SysML 2018), whose linear program this solves exactly by
// generating trees, and G. Wang et al., "Blink" (MLSys 2020), who drop trees. kUsage when the edges do not
// join all nodes.
Result<TreePacking> pack_trees(std::uint32_t nodes, const std::vector<CapacityEdge>& edges,
                               double may_lose = 0);

}  // namespace thalweg
