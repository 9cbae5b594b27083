// thalweg train: one process by default, several with --processes.
#include "cli/command/command.h"
#include "cli/options/memory_limit.h"
#include "cli/options/options.h"
#include "cli/options/trainer_options.h"
#include "cli/view/output.h"
#include "cli/view/train_view.h"

namespace thalweg {

namespace {

Status run_train(const Options& options, Output& out) {
  const auto memory = memory_limit(options);
  if (!memory) return memory.status();
  TrainerOptions wanted = trainer_options(options, *memory);
  wanted.threads = static_cast<std::uint32_t>(options.maybe_integer("threads").value_or(0));
  if (!options.flag("processes")) {
    return show_training(options, std::move(wanted), out, [](Trainer& trainer) { return trainer.run(); });
  }
  TrainProcesses processes;
  const auto node = [](const char* role) {
    return std::vector<std::string>{"node",     role,      "--join",   "{scheduler}", "--secret-file",
                                    "{secret}", "--quiet", "--memory", "{memory}"};
  };
  processes.server = node("server");
  processes.worker = node("worker");
  return show_training(options, std::move(wanted), out,
                       [&](Trainer& trainer) { return trainer.run(processes); });
}

}  // namespace

extern constinit const Command kTrainCommand = {
    .path = "train",
    .summary = "Train a model on rows of features",
    .example = "thalweg train clicks.svm --valid-part 10 --out model",
    .run = run_train,
    .options = {kReadOptions, kTrainOptions, "processes|memory|threads"},
    .arguments = "FILE...",
    .arguments_min = 1,
    .arguments_max = kManyArguments,
};

}  // namespace thalweg
