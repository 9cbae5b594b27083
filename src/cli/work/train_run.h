// The options of `thalweg train` as a trainer takes them, and the trainer run as they ask.
#pragma once

#include "cli/options/options.h"
#include "thalweg/trainer.h"

namespace thalweg {

// kUsage: what --memory cannot be.
Result<TrainerOptions> wanted_training(const Options& options);
// On threads of this process, or with --processes by others.
TrainResult run_trainer(const Options& options, Trainer& trainer);

}  // namespace thalweg
