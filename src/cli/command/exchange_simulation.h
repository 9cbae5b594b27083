// Exchanges simulated over several routes, numbers of ranks and sizes, as the command line asks for them.
#pragma once

#include <string>
#include <vector>

#include "cli/options/options.h"
#include "exchange/plan/simulate_exchange.h"
#include "topology/topology.h"

namespace thalweg {

struct SimulatedRow {
  std::string route;
  Demand demand;
  double lower_bound = 0;
  SimulatedExchange result;
};

// What --topology, --ranks, --bytes, --op and --no-pipeline say.
struct Wanted {
  std::string topology;
  std::vector<std::uint32_t> ranks;  // 0: as many as the topology has.
  std::vector<std::uint64_t> bytes;
  Operation operation{};
  bool pipelined = true;
};
// `command`: "exchange" or "plan", which have --ranks and --bytes of their own.
Result<Wanted> wanted_exchanges(const Options& options, const std::string& command);

// A room with `demand.ranks` ranks, which are set where they are 0, and with places for the servers of
// `route` (empty: for those of any route that fits). A preset grows as need be.
Result<Topology> room_for(const std::string& topology, const std::string& route, Demand& demand);

}  // namespace thalweg
