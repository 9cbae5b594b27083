// Combinations of options that cannot be meant.
#pragma once

#include "cli/options/command_line.h"
#include "cli/options/options.h"
#include "thalweg/status.h"

namespace thalweg {

// Looks at options of the given command only. kUsage, naming both options and where they came from.
Status check_rules(const Options& options, const CommandLine& line);
// Without what a weaker origin, say the configuration file, holds for other choices than the ones made.
Options without_other_choices(Options options);

}  // namespace thalweg
