// Pictures of simulated exchanges, as SVG.
#pragma once

#include <string>
#include <vector>

#include "cli/command/exchange_simulation.h"

namespace thalweg {

// Time against the number of ranks, or the size where that alone varies, one curve a route; both axes
// logarithmic.
std::string curves_svg(const std::string& title, const std::vector<SimulatedRow>& rows);
// When each link carries whose bytes in one operation, the busiest links first. Needs recorded passages.
std::string gantt_svg(const Topology& topology, const SimulatedRow& row);

}  // namespace thalweg
