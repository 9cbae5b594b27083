// A room as text for other programs.
#pragma once

#include <string>

#include "topology/room.h"

namespace thalweg {

// What parse_room() makes the same room of: node by node, cable by cable, places by their numbers.
std::string to_toml(const Room& room);

// For Graphviz: an edge per cable with its speeds, a box per machine, rack and site.
std::string to_dot(const Room& room);

}  // namespace thalweg
