// The options of a training with nothing left open.
#pragma once

#include "thalweg/trainer.h"
#include "train/plan/train_plan.h"

namespace thalweg {

// The options with what the plan chose.
TrainerOptions chosen(TrainerOptions options, const TrainPlan& plan);

}  // namespace thalweg
