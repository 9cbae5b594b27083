// The command line's options of a training.
#pragma once

#include "cli/options/options.h"
#include "thalweg/trainer.h"

namespace thalweg {

// Without callbacks.
TrainerOptions trainer_options(const Options& options, std::uint64_t memory);

}  // namespace thalweg
