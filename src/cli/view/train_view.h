// A training as its user sees it: progress, passes, what came out. Ctrl-C asks for its early end.
#pragma once

#include <atomic>
#include <functional>
#include <nlohmann/json_fwd.hpp>

#include "cli/options/options.h"
#include "cli/view/output.h"
#include "thalweg/trainer.h"

namespace thalweg {

// Opens the trainer, lets `run` run it, and shows both; with --run-dir among `given`, writes down how it
// went. Waits answer Ctrl-C from the moment that it is open.
Status show_training(const Options& given, TrainerOptions options, Output& out,
                     const std::function<TrainResult(Trainer& trainer)>& run);

// The same for one training of several: the line of --json is handed back, null where there is no model. The
// result also says why the trainer could not be opened.
TrainResult show_one_training(const Options& given, TrainerOptions options, Output& out,
                              nlohmann::ordered_json& json,
                              const std::function<TrainResult(Trainer& trainer)>& run);

}  // namespace thalweg
