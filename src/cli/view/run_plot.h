// Curves of runs, read from their directories and drawn by gnuplot.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/options/options.h"
#include "cli/view/output.h"
#include "thalweg/status.h"

namespace thalweg {

struct Curve {
  std::string name;
  std::vector<std::pair<double, double>> points;
  bool marked = false;  // By a symbol at each point.
};

// One line of a run's metrics.jsonl: numbers by field name.
struct RunLine {
  bool is_epoch = false;
  std::optional<double> number(const std::string& field) const;
  std::vector<std::pair<std::string, double>> numbers;
};

// Errors: kData, which names file and line; kIo.
Result<std::vector<RunLine>> read_run(const std::string& directory);

struct Axes {
  std::string what, x, y;  // What: "loss".
};

// Bars side by side in groups, one a series.
struct Bars {
  struct Group {
    std::string name;
    std::vector<double> values;  // By series.
  };
  std::vector<std::string> series;
  std::vector<Group> groups;
};

// For gnuplot, as SVG or PNG.
std::string curves_script(const Axes& axes, const std::vector<Curve>& curves, bool png);
std::string bars_script(const Axes& axes, const Bars& bars, bool png);

// What `plot WHAT RUN... -o FILE` does: `curves_of` a run with its name.
using CurvesOf = std::vector<Curve> (*)(const std::string& name, const std::vector<RunLine>& lines);
Status plot_runs(const Options& options, Output& out, const Axes& axes, CurvesOf curves_of);

}  // namespace thalweg
