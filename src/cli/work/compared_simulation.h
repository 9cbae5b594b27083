// What a comparison says of the cluster that its runs are simulated on. Includes toml++, for .cc files alone.
#pragma once

#include <string>
#include <vector>

#include "cli/command/command.h"
#include "cli/options/option_value.h"
#include "cli/work/toml_value.h"

namespace thalweg {

// An option with its value, and the line that says so.
struct ComparedSetting {
  const OptionRow* row;
  OptionValue value;
  std::string place;
};

// Of `simulate = { ranks = 512, ... }`, as options of `simulated`, which is `thalweg simulate train`. Errors
// are kConfig and name file, line and key.
Result<std::vector<ComparedSetting>> read_simulate(const std::string& path, const Command& simulated,
                                                   const toml::node& node);

}  // namespace thalweg
