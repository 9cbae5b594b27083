// The turn that a worker is in, for its parts.
#pragma once

#include "node/node.h"

namespace thalweg {

struct WorkerTurn {
  Instant now;
  Transport* out = nullptr;  // Null between turns.
};

}  // namespace thalweg
