#include "topology/capacity_graph.h"

#include <algorithm>

namespace thalweg {

std::vector<CapacityEdge> direct_edges(const Topology& topology) {
  std::vector<CapacityEdge> edges;
  for (const DirectLink& direct : topology.direct_links()) {
    if (direct.from > direct.to) continue;
    const DirectedLink &there = topology.link(direct.link), &back = topology.link(direct.link ^ 1u);
    const double least = std::min(there.bytes_per_second, back.bytes_per_second);
    edges.push_back({direct.from, direct.to, there.queue == back.queue ? least / 2 : least});
  }
  return edges;
}

}  // namespace thalweg
