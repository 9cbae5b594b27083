// Where the ranks of a live group run, as all of them know it alike.
#pragma once

#include <cstdint>

#include "base/machine_costs.h"

namespace thalweg {

struct RankPlace {
  std::uint32_t machine = 0;  // The lowest rank on the same machine.
  std::uint32_t memory = 0;   // The lowest rank that sees the same allocate()d memory.
  std::uint32_t cores = 1;    // That the ranks of this machine may run on.
  MachineCosts costs{};       // As the lowest rank on the machine knows them.
  // Digest of the routes that this rank knows to have been measured; 0: none.
  std::uint64_t measured_routes = 0;
  bool operator==(const RankPlace&) const = default;
};

}  // namespace thalweg
