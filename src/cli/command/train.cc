// thalweg train: one process by default, several with --processes.
#include <utility>

#include "cli/command/command.h"
#include "cli/options/options.h"
#include "cli/view/output.h"
#include "cli/view/train_view.h"
#include "cli/work/checkpoint_options.h"
#include "cli/work/train_run.h"

namespace thalweg {

namespace {

Status run_train(const Options& options, Output& out) {
  auto wanted = wanted_training(options);
  if (!wanted) return wanted.status();
  return show_training(options, *std::move(wanted), out,
                       [&](Trainer& trainer) { return run_trainer(options, trainer); });
}

}  // namespace

extern constinit const Command kTrainCommand = {
    .path = "train",
    .summary = "Train a model on rows of features",
    .example = "thalweg train clicks.svm --valid-part 10 --out model",
    .run = run_train,
    .options = {kReadOptions, kTrainOptions, kCheckpointOptions, "from-command|processes|memory|threads"},
    .arguments = "FILE...",
    .arguments_min = 1,
    .arguments_max = kManyArguments,
};

}  // namespace thalweg
