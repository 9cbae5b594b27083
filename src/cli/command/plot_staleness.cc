// plot staleness: how far data shards have led others, at most so far.
#include "cli/command/command.h"
#include "cli/view/run_plot.h"

namespace thalweg {
namespace {

std::vector<Curve> staleness_curves(const std::string& name, const std::vector<RunLine>& lines) {
  Curve most{name, {}};
  for (const RunLine& line : lines) {
    const auto at = line.number("seconds"), steps = line.number("staleness_max");
    if (at && steps) most.points.emplace_back(*at, *steps);
  }
  return {most};
}

Status run_plot_staleness(const Options& options, Output& out) {
  return plot_runs(options, out, {"staleness", "seconds", "steps, at most so far"}, staleness_curves);
}

}  // namespace

extern constinit const Command kPlotStalenessCommand = {
    .path = "plot staleness",
    .summary = "Draw how many steps data shards of runs led the slowest, at most so far",
    .example = "thalweg plot staleness runs/a runs/b --output staleness.svg",
    .run = run_plot_staleness,
    .options = {"output"},
    .arguments = "RUN...",
    .arguments_min = 1,
    .arguments_max = kManyArguments,
};

}  // namespace thalweg
