// What no route can beat on a topology.
#pragma once

#include "exchange/plan/layout.h"

namespace thalweg {

// Seconds below which the operation cannot be done, whatever the route: the bytes that must leave or enter
// ranks, machines, racks and sites over what their links carry, and the latency that the first or the last of
// them has besides; or the longest latency between two ranks that depend on each other, where that is more.
// Counts the capacity of the layout's servers. Not always reached. P. Patarasuk, X. Yuan, "Bandwidth optimal
// all-reduce algorithms for clusters of workstations", JPDC 2009.
double lower_bound_seconds(const Topology& topology, const Demand& demand, const Layout& layout);

}  // namespace thalweg
