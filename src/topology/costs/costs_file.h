// What a machine takes, as TOML text; docs/topology.md describes the format.
#pragma once

#include <string>
#include <string_view>

#include "base/machine_costs.h"
#include "thalweg/status.h"

namespace thalweg {

inline constexpr std::size_t kCostsBytesMax = std::size_t{1} << 16;

// What the text leaves out stays as MachineCosts has it. `source` names it in errors, which are kConfig.
Result<MachineCosts> parse_costs(std::string_view text, const std::string& source);
std::string to_toml(const MachineCosts& costs);  // As parse_costs() reads it, bit for bit.

}  // namespace thalweg
