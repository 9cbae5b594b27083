// A group's ranks as a machine room, with what their transports and cores have been measured to do, so that
// the formulas of exchange/plan/cost.h can tell which route takes the least time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "exchange/plan/cost.h"
#include "node/rank_place.h"
#include "topology/topology.h"

namespace thalweg {

// What one transport asks of the core of a rank. A core copies in and out by turns, so that both directions
// share its rate; ranks that share a core take turns at all of it.
struct TransportFigures {
  double bytes_per_second;
  std::uint64_t latency_ns;  // On the way and to wake up.
  double message_seconds;    // To begin or end one message.
  std::size_t piece_bytes;   // In which large blocks travel best.
};
// bench/tcp_exchange_bench RANKS 4096,32768,131072,524288,4194304 ROUTE --piece P --transport T, for 2, 3, 4
// and 8 ranks on two cores at 2.7 GHz (docs/adr/0022).
inline constexpr TransportFigures kSharedMemoryFigures{20e9, 250, 0.25e-6, 128 << 10};
// Four packets of loopback, which carry 65483 bytes: 128 KiB would take three, the third for 106 bytes.
inline constexpr TransportFigures kLoopbackFigures{10e9, 1800, 1.6e-6, 4 * 65280};
inline constexpr double kAddSecondsPerByte = 0.07e-9;
inline constexpr double kFetchSecondsPerByte = 0.07e-9;
inline constexpr double kCacheBytes = 2 << 20;  // Of a core's own.
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
