// A saved model's tables, into another that is written.
#pragma once

#include "client/job/job_cluster.h"
#include "model/format/model_dir.h"
#include "thalweg/task.h"

namespace thalweg {

// Optimizer state included. `store` is yielded to now and then, for nodes of the same thread.
Task<Status> copy_tables(const ModelReader& from, ModelWriter& to, ShardStore& store);

}  // namespace thalweg
