// plot loss: the loss of training and held-out rows against time.
#include "cli/command/command.h"
#include "cli/view/run_plot.h"

namespace thalweg {
namespace {

// Of each pass the mean so far, hence the steps between passes.
std::vector<Curve> loss_curves(const std::string& name, const std::vector<RunLine>& lines) {
  Curve train{name + ", training", {}}, valid{name + ", held out", {}, true};
  for (const RunLine& line : lines) {
    const auto at = line.number("seconds");
    if (!at) continue;
    const auto logloss = line.number("train_logloss"), loss = logloss ? logloss : line.number("train_rmse");
    if (loss) train.points.emplace_back(*at, *loss);
    const auto held_out = line.number(logloss ? "valid_logloss" : "valid_rmse");
    if (held_out) valid.points.emplace_back(*at, *held_out);
  }
  return {train, valid};
}

Status run_plot_loss(const Options& options, Output& out) {
  return plot_runs(options, out, {"loss", "seconds", "logloss, or rmse of squared loss"}, loss_curves);
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
