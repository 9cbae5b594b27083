// The options about checkpoints as a trainer takes them.
#pragma once

#include <string_view>

#include "cli/options/options.h"
#include "thalweg/trainer.h"

namespace thalweg {

// Of commands that train, beside kTrainOptions.
inline constexpr std::string_view kCheckpointOptions = "checkpoint|checkpoint-every|keep|resume";

// kUsage: what --checkpoint-every cannot be, and options that mean nothing without --checkpoint.
Result<CheckpointOptions> checkpoint_options(const Options& options);

}  // namespace thalweg
