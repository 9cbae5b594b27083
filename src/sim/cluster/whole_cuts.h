// What servers stored of a checkpoint, with all rows where they gave out those that had changed.
#pragma once

#include <cstdint>
#include <map>

#include "server/cut.h"

namespace thalweg::sim {

using Cuts = std::map<std::uint32_t, Cut>;  // By server.

// `base`: those of the checkpoint that `cuts` have the changes since, whole.
Cuts whole_cuts(Cuts cuts, const Cuts& base);

}  // namespace thalweg::sim
