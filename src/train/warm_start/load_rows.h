// Rows that tables begin with, of a saved model or of a new one, given to the servers of a job.
#pragma once

#include <vector>

#include "client/job/job_cluster.h"
#include "model/format/model_dir.h"
#include "model/model.h"
#include "thalweg/options.h"
#include "thalweg/task.h"

namespace thalweg {

// Loads the rows of all tables of the model, with their state where `with_state` and there is some. `tables`:
// of the servers, which may be wider where they show replicas. For an observer, before it comes to
// kLoadedBarrier. `model` outlives the task.
Task<Status> load_rows(ShardStore& store, const ModelReader& model, std::vector<TableSpec> tables,
                       bool with_state);

// The same of a model's tables that begin with values of their own, see Model::initial(). `model` outlives
// the task.
Task<Status> load_initial(ShardStore& store, const Model& model, std::vector<TableSpec> tables);
bool has_initial(const Model& model);

}  // namespace thalweg
