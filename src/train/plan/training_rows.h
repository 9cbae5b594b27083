// The rows of a training, looked at before it begins.
#pragma once

#include <cstdint>
#include <memory>

#include "data/data_set.h"
#include "model/model_kind.h"
#include "thalweg/status.h"
#include "train/plan/train_plan.h"

namespace thalweg {

// As workers will read them; what their columns are is said and kept in the plan. `raw`: values are not to be
// divided.
Result<std::shared_ptr<DataSet>> open_training(TrainPlan& plan, const WarmStart* start, bool raw);
// Mean number of entries in the first rows.
Result<double> mean_entries(const std::shared_ptr<DataSet>& data);
// Rows of a step, of a sparse model.
std::uint32_t choose_batch(const ModelSpec& model, const ModelKind& kind, double entries,
                           const DataSet& data);

}  // namespace thalweg
