// Random groups of ranks under random faults, one for each seed.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "cli/view/output.h"
#include "thalweg/status.h"

namespace thalweg {

// Seeds from `first` to `end` - 1. `trace` may be empty.
Status run_simulate_groups(std::uint64_t first, std::uint64_t end,
                           const std::function<void(std::string_view line)>& trace, Output& out);

}  // namespace thalweg
