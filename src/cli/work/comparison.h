// What `compare` is asked for: trainings on the same data, each with its own options, and a target.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/options/options.h"
#include "thalweg/status.h"

namespace thalweg {

struct Target {
  bool accuracy = false;  // At least; else a loss, at most. Of the held-out rows.
  double value = 0;
};

struct ComparedRun {
  std::string name;   // Fit for a directory.
  std::string place;  // "algorithms.toml:12"
  bool simulated = false;
  // As of `thalweg train`, or of `thalweg simulate train`; the run directory is whoever runs it to say.
  Options options;
};

struct Comparison {
  std::optional<Target> target;
  std::string target_place;  // "algorithms.toml:2"
  std::vector<ComparedRun> runs;
};

// From the file `path`, see docs/compare.md. `about`: the command that is running, whose program has both
// commands.
// Errors are kConfig and name file, line and key.
Result<Comparison> read_comparison(const std::string& path, const Options& about);

}  // namespace thalweg
