// Formulas of time that several routes have in common, and how these are cut into pieces.
#pragma once

#include <cstdint>
#include <vector>

#include "exchange/plan/round_costs.h"
#include "exchange/route/lanes.h"
#include "exchange/route/tree_shape.h"
#include "topology/capacity_graph.h"

namespace thalweg {

// Around: Plan::rings or, where there are none, rank after rank, half of the bytes each way if `both_ways`.
double ring_seconds(RoundCosts& costs, const Demand& demand, const Layout& layout, bool both_ways);
double ring_fetched_bytes(const Demand& demand, const Layout& layout, double cache_bytes);
double ring_messages(const Demand& demand, const Layout& layout);
void cut_ring(const Demand& demand, Layout& layout);
// Direct cables among the first ranks.
std::vector<CapacityEdge> edges_among(const Topology& topology, std::uint32_t ranks);
// The rings that direct cables among the first ranks have, the heaviest first, and if `both_ways` the same
// backwards after them.
std::vector<Ring> cable_rings(const Topology& topology, std::uint32_t ranks, bool both_ways);

// A tree and its share of the bytes.
struct WeightedTree {
  std::vector<TreePlace> places;  // By rank.
  double share = 1;
};
template <class PlaceOf>
WeightedTree tree_of(std::uint32_t ranks, const PlaceOf& place_of, double share = 1) {
  WeightedTree tree{{}, share};
  for (std::uint32_t rank = 0; rank < ranks; ++rank) tree.places.push_back(place_of(rank));
  return tree;
}
double tree_seconds(RoundCosts& costs, const Demand& demand, const Layout& layout,
                    const std::vector<WeightedTree>& trees);
// Into as many pieces as a way of `depth` hops wants of a lane's bytes.
void cut_by_depth(const Demand& demand, Layout& layout, std::uint32_t depth);
void cut_by_depth(Layout& layout, std::uint32_t depth, double lane_bytes);
std::uint32_t log2_depth(std::uint32_t ranks);

// Whoever owns a part gets it from every worker and sends the sum back.
double owners_seconds(RoundCosts& costs, const Demand& demand, const Layout& layout, OwnShares own);
double owners_added_bytes(const Demand& demand, const Layout& layout);
// OK, or why a barrier does not go by so many owners that contribute nothing: more than `most` of them.
Status check_owners_barrier(const Plan& plan, Operation operation, std::uint32_t most);

// Partners at doubling distance exchange all that they have, or what halves at each distance.
double doubling_seconds(RoundCosts& costs, const Demand& demand, bool halves);
double doubling_messages(const Demand& demand, const Layout& layout);

std::uint64_t elements_of(double bytes);  // At least one.

}  // namespace thalweg
