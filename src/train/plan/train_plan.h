// What is to be trained, once everything that its user left open is chosen.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/data_set.h"
#include "thalweg/trainer.h"
#include "train/train_spec.h"
#include "train/warm_start/warm_start.h"

namespace thalweg {

struct TrainPlan {
  TrainSpec spec;
  bool keeps_best = false;  // Of several passes.
  Consistency consistency;
  std::shared_ptr<DataSet> pipe;  // The training data when it can be opened once only; null otherwise.
  std::vector<std::string> notes, warnings;  // For people.
  std::uint64_t rows_without_click = 0;      // That were looked at, if none of them has a label above 0.
};
// kUsage for combinations that cannot be meant. Reads a little of the input where an option is left to be
// chosen from the data. `start`: what the training goes on with, which has settled the options; null:
// nothing.
Result<TrainPlan> plan_training(const TrainerOptions& options, const WarmStart* start = nullptr);

}  // namespace thalweg
