// The options about checkpoints as a trainer takes them.
#pragma once

#include <string_view>

#include "cli/options/options.h"
#include "thalweg/trainer.h"

namespace thalweg {

// Of commands that train, beside kTrainOptions.
inline constexpr std::string_view kCheckpointOptions =
    "checkpoint|checkpoint-every|checkpoint-whole-every|resume";

// What `--keep` says: best, last, or how many checkpoints. kUsage: anything else.
Status set_kept(const Options& options, TrainerOptions& out);
// kUsage: what --checkpoint-every cannot be, and options that mean nothing without --checkpoint.
Result<CheckpointOptions> checkpoint_options(const Options& options);

}  // namespace thalweg
