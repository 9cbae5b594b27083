// plot loss: the loss of training and held-out rows against time.
#include <string>

#include "cli/command/command.h"
#include "cli/view/run_plot.h"

namespace thalweg {
namespace {

// Of each pass the mean so far, hence the steps between passes.
std::vector<Curve> loss_curves(const std::string& run, const std::vector<RunLine>& lines) {
  Curve train{run + ", training", {}}, valid{run + ", held out", {}, true};
  for (const RunLine& line : lines) {
    const auto at = line.number("seconds");
    if (!at) continue;
    for (const char* name : {"logloss", "rmse", "deviance"}) {
      const std::string metric(name);
      const auto loss = line.number("train_" + metric), held_out = line.number("valid_" + metric);
      if (!loss) continue;  // A run has the one by which it is judged.
      train.points.emplace_back(*at, *loss);
      if (held_out) valid.points.emplace_back(*at, *held_out);
    }
  }
  return {train, valid};
}

Status run_plot_loss(const Options& options, Output& out) {
  return plot_runs(options, out, {"loss", "seconds", "logloss, rmse of squared loss, deviance of counts"},
                   loss_curves);
}

}  // namespace

extern constinit const Command kPlotLossCommand = {
    .path = "plot loss",
    .summary = "Draw the loss of runs against time, in training and on held-out rows",
    .example = "thalweg plot loss runs/a runs/b --output loss.svg",
    .run = run_plot_loss,
    .options = {"output"},
    .arguments = "RUN...",
    .arguments_min = 1,
    .arguments_max = kManyArguments,
};

}  // namespace thalweg
