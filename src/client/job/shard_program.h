// An application's Program as the work of a data shard.
#pragma once

#include "thalweg/job.h"
#include "worker/worker.h"

namespace thalweg {

// The program, then the end of the shard's work and word of it. An heir of a shard that has ended its work
// does the last only.
ShardProgram shard_program(Program program);

}  // namespace thalweg
