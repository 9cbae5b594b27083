// From the outside world's words to Options.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cli/options/command_line.h"
#include "cli/options/options.h"

namespace thalweg {

// Environment variables whose names begin with THALWEG_, as {name, value}.
using Variables = std::vector<std::pair<std::string, std::string>>;

// Reads the configuration file if one is named. Errors of flags, --set and combinations are kUsage, those of
// variables and the file kConfig.
Result<Options> resolve(const CommandLine& line, const Variables& variables);

}  // namespace thalweg
