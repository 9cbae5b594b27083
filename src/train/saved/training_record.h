// What a saved model says of its training.
#pragma once

#include <cstdint>

#include "data/data_set.h"
#include "model/format/manifest.h"
#include "train/train_spec.h"

namespace thalweg {

// Now, or at the time that SOURCE_DATE_EPOCH names, in seconds since 1970. `data`: what was learnt from; null
// where only workers have it, and no file is recorded.
TrainingRecord training_record(const TrainSpec& spec, const DataSet* data);

}  // namespace thalweg
