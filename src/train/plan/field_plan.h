// How many fields the rows of a model with fields have.
#pragma once

#include <memory>

#include "data/data_set.h"
#include "thalweg/status.h"
#include "thalweg/trainer.h"
#include "train/train_spec.h"

namespace thalweg {

// Counts them in `data` where they are not told. `needed`: a model without any makes no sense. kUsage, kData.
Status plan_fields(const TrainerOptions& options, const std::shared_ptr<DataSet>& data, bool needed,
                   TrainSpec& spec);

}  // namespace thalweg
