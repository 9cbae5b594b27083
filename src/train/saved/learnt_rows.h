// How the model that servers have does on rows that it has learnt.
#pragma once

#include <optional>

#include "model/metric/metric.h"
#include "thalweg/store.h"
#include "thalweg/task.h"
#include "train/shard_trainer.h"

namespace thalweg {

// Of some rows from all over the data, of packed files from its begin and of dense models fewer, as each row
// takes all of their numbers; nothing where rows cannot be read again here. Rows are neither sampled nor
// weighted otherwise than they stand.
Task<Status> measure_learnt_rows(Store& store, const TrainInputs& inputs, std::optional<Measured>& out);

}  // namespace thalweg
