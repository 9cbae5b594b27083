// A plan laid out on a topology: who sits where, which rings, trees and levels, and in what pieces.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "exchange/plan/plan.h"
#include "thalweg/status.h"
#include "topology/topology.h"

namespace thalweg {

// What is wanted, whichever way it is done. Elements have four bytes.
struct Demand {
  Operation operation = Operation::kAllReduce;
  std::uint64_t bytes = 0;  // Of the whole vector; all-to-all: of what each rank contributes.
  std::uint32_t ranks = 2;  // That contribute; servers come on top.
  std::uint32_t root = 0;
  std::uint32_t peer = 1;  // Point to point: who receives.
  bool pipelined = true;   // Blocks travel in pieces, so that phases overlap; else as a textbook counts them.

  static constexpr std::uint64_t kElementBytes = 4;
  std::uint64_t elements() const { return (bytes + kElementBytes - 1) / kElementBytes; }
};

// The neighbours of a rank in a simulated neighbour exchange: those beside it on a ring.
std::vector<std::uint32_t> ring_neighbours(std::uint32_t rank, std::uint32_t ranks);

struct Layout {
  std::string route;  // As it was asked for, by its present name.
  Plan plan;
  std::vector<std::uint32_t> endpoints;  // Of the topology, by rank: the contributing ones, then the servers.
  std::uint32_t size() const { return static_cast<std::uint32_t>(endpoints.size()); }
};

// Lays out one route, named as parse_route() takes it, `own` ones included. Ranks sit on the topology's first
// ones, servers on spare endpoints and, where these are too few, on the topology's next ranks. "ring",
// "rings" and "bidirectional-ring" follow direct cables where a ring of them exists: the heaviest one, all of
// the best packing, and that both ways; "rings:K" takes K of those. kUsage where the topology or the
// operation does not allow the route.
Result<Layout> lay_out(const Topology& topology, const Demand& demand, std::string_view name,
                       std::span<const Route* const> own = {});

// Routes worth a try, in the order of the documentation: those without parameters, and with those that fit.
std::vector<std::string> candidate_routes(const Topology& topology, const Demand& demand,
                                          std::span<const Route* const> own = {});
// The same, and by their other names once more.
std::vector<std::string> all_routes(const Topology& topology, const Demand& demand);

}  // namespace thalweg
