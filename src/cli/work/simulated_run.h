// The options of `thalweg simulate train` as a trainer and a simulation take them.
#pragma once

#include <string>
#include <string_view>

#include "cli/options/options.h"
#include "thalweg/trainer.h"
#include "train/simulated/simulation.h"

namespace thalweg {

// With numbers of nodes, and as many data shards as workers unless it is said. kUsage: what --memory cannot
// be.
Result<TrainerOptions> wanted_simulated_training(const Options& options);
// kUsage: what the text of an option of simulations, such as "straggler", cannot mean. OK of other options.
Status check_simulation_option(std::string_view name, const std::string& text);
// kUsage, which says what was expected of which option.
Result<TrainSimulation> wanted_simulation(const Options& options);

}  // namespace thalweg
