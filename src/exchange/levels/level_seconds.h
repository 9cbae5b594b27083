// What one level of a hierarchical all-reduce takes by formula.
#pragma once

#include "exchange/levels/hierarchy.h"
#include "exchange/plan/round_costs.h"

namespace thalweg {

// There and back, of blocks of so many bytes at those who take part; twice what half of it takes, as for all
// formulas of routes.
double level_seconds(RoundCosts& costs, const Demand& demand, const Hierarchy& hierarchy, std::size_t level,
                     double block);
// Messages in all, there and back, of blocks of so many elements.
double level_messages(const Demand& demand, const Layout& layout, const Hierarchy& hierarchy,
                      std::size_t level, double block);
// Bytes that the rank which adds most adds there, and those that it sends after they have left the cache.
double level_added_bytes(const PlanLevel& level, double block);
double level_fetched_bytes(const PlanLevel& level, double block, double cache_bytes);

}  // namespace thalweg
