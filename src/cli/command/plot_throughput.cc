// plot throughput: rows learnt from a second against time.
#include "cli/command/command.h"
#include "cli/view/run_plot.h"

namespace thalweg {
namespace {

std::vector<Curve> rate_curves(const std::string& name, const std::vector<RunLine>& lines) {
  Curve rate{name, {}};
  double before_s = 0, before = 0;
  for (const RunLine& line : lines) {
    const auto at = line.number("seconds"), examples = line.number("examples");
    if (line.is_epoch || !at || !examples || *at <= before_s) continue;
    rate.points.emplace_back(*at, (*examples - before) / (*at - before_s));
    before_s = *at, before = *examples;
  }
  return {rate};
}

Status run_plot_throughput(const Options& options, Output& out) {
  return plot_runs(options, out, {"throughput", "seconds", "rows a second"}, rate_curves);
}

}  // namespace

extern constinit const Command kPlotThroughputCommand = {
    .path = "plot throughput",
    .summary = "Draw how many rows runs learnt from a second, against time",
    .example = "thalweg plot throughput runs/a runs/b --output throughput.svg",
    .run = run_plot_throughput,
    .options = {"output"},
    .arguments = "RUN...",
    .arguments_min = 1,
    .arguments_max = kManyArguments,
};

}  // namespace thalweg
