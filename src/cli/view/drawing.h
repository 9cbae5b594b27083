// Pictures by programs that draw them, where they are installed.
#pragma once

#include <string>
#include <vector>

#include "thalweg/status.h"

namespace thalweg {

struct DrawingProgram {
  std::string program, package;  // "dot", of Debian's "graphviz"
  std::vector<std::string> arguments;
};

DrawingProgram graphviz_svg();  // Of a graph in the DOT language.
DrawingProgram gnuplot();       // Of a script that sets its own terminal.

// What it writes when it reads `text`. kIo when it is not there or fails.
Result<std::string> drawn_by(const DrawingProgram& drawing, const std::string& text);

}  // namespace thalweg
