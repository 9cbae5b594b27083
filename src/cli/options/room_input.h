// A machine room as the command line names it: a preset or a TOML file.
#pragma once

#include <cstdint>
#include <string>

#include "thalweg/status.h"
#include "topology/topology.h"

namespace thalweg {

// "rack-10g", "uniform:16,1GB/s,5us" or the path of a file. `ranks` changes a preset's size; 0 keeps it. A
// file's room has the ranks that it has.
Result<Topology> open_room(const std::string& name, std::uint32_t ranks = 0);

}  // namespace thalweg
