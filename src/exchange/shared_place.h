// Where a rank's buffers are in the memory that it shares with the ranks of its machine.
#pragma once

#include <cstdint>

#include "node/fabric.h"

namespace thalweg {

struct SharedPlace {
  std::uint64_t in = Fabric::kNotShared;
  std::uint64_t out = Fabric::kNotShared;
};

}  // namespace thalweg
