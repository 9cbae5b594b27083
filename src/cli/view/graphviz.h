// Pictures by Graphviz's program `dot`, where it is installed.
#pragma once

#include <string>

#include "thalweg/status.h"

namespace thalweg {

// The picture of a graph in the DOT language, as SVG. kIo when there is no `dot` or it fails.
Result<std::string> draw_svg(const std::string& graph);

}  // namespace thalweg
