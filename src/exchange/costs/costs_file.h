// What was measured of a machine, as TOML text; docs/topology.md describes the format.
#pragma once

#include <string>
#include <string_view>

#include "base/machine_costs.h"
#include "exchange/costs/measured_routes.h"
#include "thalweg/status.h"

namespace thalweg {

inline constexpr std::size_t kCostsBytesMax = std::size_t{1} << 18;

// By which the ranks of a group choose routes.
struct MachineFigures {
  MachineCosts costs;
  MeasuredRoutes routes;
};

// What the text leaves out stays as MachineCosts has it. `source` names it in errors, which are kConfig.
Result<MachineFigures> parse_costs(std::string_view text, const std::string& source);
std::string to_toml(const MachineFigures& figures);  // As parse_costs() reads it, bit for bit.

}  // namespace thalweg
