// A training as its user sees it: progress, passes, what came out. Ctrl-C asks for its early end.
#pragma once

#include <atomic>
#include <functional>

#include "cli/view/output.h"
#include "thalweg/trainer.h"

namespace thalweg {

// Opens the trainer, lets `run` run it, and shows both. Waits answer Ctrl-C from the moment that it is open.
Status show_training(TrainerOptions options, Output& out,
                     const std::function<TrainResult(Trainer& trainer)>& run);

}  // namespace thalweg
