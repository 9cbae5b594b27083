// How much memory a process may take for what grows with its input.
#pragma once

#include <cstdint>
#include <string>

#include "cli/options/options.h"
#include "thalweg/status.h"

namespace thalweg {

// What --memory says. kUsage: it is no size or less than 1M.
Result<std::uint64_t> parse_memory(const std::string& text);

// --memory, for the tables of all servers in this process; unset is three quarters of the machine's, or of
// its control group's where that has less. kUsage: it is no size or less than 1M.
Result<std::uint64_t> memory_limit(const Options& options);

}  // namespace thalweg
