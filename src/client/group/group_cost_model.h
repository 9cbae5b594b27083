// A group's ranks as a machine room, with what their machines' transports and cores take, so that the
// formulas of exchange/plan/cost.h can tell which route takes the least time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "exchange/costs/piece_bytes.h"
#include "exchange/plan/cost.h"
#include "node/rank_place.h"
#include "topology/topology.h"

namespace thalweg {

// Between machines: 10 Gbit/s through one switch.
inline constexpr double kNetworkBytesPerSecond = 1.25e9;
inline constexpr std::uint64_t kNetworkLatencyNs = 25'000;

// The ranks as a machine room, and what its cores do.
struct GroupCostModel {
  Topology topology;
  Handling handling;
  std::size_t piece_bytes = 0;
};
// Precondition: `places` is not empty.
GroupCostModel group_cost_model(const std::vector<RankPlace>& places);

// Ranks per machine and machines, where ranks are numbered machine by machine; {ranks} of one machine; else
// empty.
PlanLevels machine_levels(const std::vector<RankPlace>& places);

}  // namespace thalweg
