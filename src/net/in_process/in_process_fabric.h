// The fabric of ranks that are threads of one process.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "net/live_fabric.h"

namespace thalweg {

// One fabric a rank; each may be used by a thread of its own and may outlive the others: a rank whose fabric
// is gone is lost to the others, who still get the bytes that it sent. All memory counts as shared.
std::vector<std::unique_ptr<LiveFabric>> make_in_process_fabrics(std::uint32_t ranks);

}  // namespace thalweg
