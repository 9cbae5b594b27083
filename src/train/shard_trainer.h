// Mini-batch training of one data shard through the store: pull the batch's rows, compute, push gradients.
#pragma once

#include <memory>

#include "data/data_set.h"
#include "thalweg/store.h"
#include "thalweg/task.h"
#include "train/train_spec.h"

namespace thalweg {

// What the shards of one process share. The data sets are thread-safe.
struct TrainInputs {
  TrainSpec spec;
  std::shared_ptr<DataSet> train;  // Null: only the workers have the data.
  std::shared_ptr<DataSet> valid;  // Null: nothing is held out.
};
Result<std::shared_ptr<const TrainInputs>> open_inputs(TrainSpec spec);

// The barrier after which the model is final.
inline constexpr Step kTrainedBarrier{~0u, 0};

// From store.step() on, which is not the beginning when the shard was another worker's.
Task<Status> train_shard(Store& store, std::shared_ptr<const TrainInputs> inputs);

}  // namespace thalweg
