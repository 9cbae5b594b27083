// Which rows a training learns from, and which are held out.
#pragma once

#include "thalweg/status.h"
#include "thalweg/trainer.h"
#include "train/train_spec.h"

namespace thalweg {

// Reads of files no more than what they are. kUsage for what cannot be meant.
Status plan_inputs(const TrainerOptions& options, TrainSpec& spec);
// One pass where the rows come by standard input. kUsage where they would have to be read twice.
Status plan_pipe(const TrainerOptions& options, TrainSpec& spec);

}  // namespace thalweg
