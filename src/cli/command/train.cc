// thalweg train: one process by default, several with --processes.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>

#include "cli/command/command.h"
#include "cli/options/option_table.h"
#include "cli/options/options.h"
#include "cli/score/remembered_names.h"
#include "cli/view/output.h"
#include "cli/view/train_view.h"
#include "cli/work/checkpoint_options.h"
#include "cli/work/stored_model.h"
#include "cli/work/train_run.h"
#include "train/sweep/sweep.h"

namespace thalweg {

namespace {

constexpr OptionRow kTrainOwnOptions[] = {
    {.name = "sweep",
     .type = OptionType::kText,
     .group = "Training",
     .help =
         "Train once for each combination of these numbers, on rows that are read once, and keep the model "
         "that is best on held-out rows",
     .example = "rate=0.05,0.1,0.2;l2=1,10",
     .placeholder = "NAME=X,...;..."},
    {.name = "remember-names",
     .type = OptionType::kInt,
     .group = "Output",
     .help = "Keep the names of the N largest weights with the model, by one more pass over the input",
     .example = "10000",
     .placeholder = "N",
     .low = 1,
     .high = 1e7},
};

Status check_remembering(const Options& options) {
  if (!options.has("remember-names")) return ok_status();
  if (!options.has("out"))
    return {Code::kUsage, "--remember-names needs --out DIR, beside whose model names are kept"};
  const auto& files = options.arguments();
  if (std::find(files.begin(), files.end(), "-") == files.end()) return ok_status();
  return {Code::kUsage, "--remember-names reads the input again, and standard input can be read once"};
}

// What a configuration file says of a number that --sweep names is the weaker word.
Status check_sweep_alone(const Options& options) {
  const auto sweep = options.maybe_text("sweep");
  if (!sweep) return ok_status();
  const auto points = sweep_points(*sweep);
  if (!points) return points.status();
  for (const SweepSetting& setting : points->front()) {
    if (options.origin(setting.name) == Origin::kDefault ||
        options.origin(setting.name) < options.origin("sweep"))
      continue;
    return {Code::kUsage, fmt::format("--{} {} ({}) and --sweep '{}' both set {}; expected one of the two",
                                      setting.name, value_text(options.value(setting.name)),
                                      options.place(setting.name), *sweep, setting.name)};
  }
  if (options.has("run-dir"))
    return {Code::kUsage, "--run-dir is of one training, and --sweep of several; expected one of the two"};
  return ok_status();
}

using Names = std::unordered_map<Key, std::string>;

// Of the model that the training goes on with, which --out may replace.
Result<Names> names_before(const Options& options) {
  const char* const from = options.has("init") ? "init" : "init-weights";
  if (!options.has("out") || options.has("remember-names") || !options.has(from)) return Names();
  const auto model = open_model(options.text(from));
  return model ? remembered_names(*model) : Names();  // The training says what is wrong with the model.
}

// The model is there, so that no failure to name its features is one of the training.
void remember(const Options& options, const Result<Names>& before, const TrainResult& result, Output& out) {
  if (!result.complete || result.model.empty()) return;
  const auto asked = options.maybe_integer("remember-names");
  const Status status = asked ? remember_names(options, result.model, static_cast<std::size_t>(*asked))
                        : before.ok() ? keep_names(*before, result.model)
                                      : before.status();
  if (!status.ok()) out.warn(fmt::format("names are not remembered: {}", status.message()));
}

Status run_train(const Options& options, Output& out) {
  for (const Status& status : {check_remembering(options), check_sweep_alone(options)}) {
    if (!status.ok()) return status;
  }
  auto wanted = wanted_training(options);
  if (!wanted) return wanted.status();
  wanted->state = options.maybe_text("state").value_or("");
  wanted->sweep = options.maybe_text("sweep").value_or("");
  leave_to_sweep(*wanted);
  const auto names = names_before(options);
  return show_training(options, *std::move(wanted), out, [&](Trainer& trainer) {
    TrainResult result = run_trainer(options, trainer);
    remember(options, names, result, out);
    return result;
  });
}

}  // namespace

extern constinit const Command kTrainCommand = {
    .path = "train",
    .summary = "Train a model on rows of features",
    .example = "thalweg train clicks.svm --valid-part 10 --out model",
    .run = run_train,
    .options = {kReadOptions, kTrainOptions, kCheckpointOptions,
                "from-command|command-timeout|processes|state|memory|threads"},
    .own = kTrainOwnOptions,
    .arguments = "FILE...",
    .arguments_min = 1,
    .arguments_max = kManyArguments,
};

}  // namespace thalweg
