// What a rank does with its peers' buffers when all of them are in shared memory.
#pragma once

#include "exchange/buffers.h"
#include "node/fabric.h"
#include "thalweg/status.h"

namespace thalweg {

// This rank's share of the operation: all ranks have said where their buffers are, none changes them until
// all are done. OK, or which peer's memory cannot be seen here.
Status work_in_shared_memory(const Call& call, Buffers& buffers, std::uint32_t rank, std::uint32_t ranks,
                             Fabric& fabric);

}  // namespace thalweg
