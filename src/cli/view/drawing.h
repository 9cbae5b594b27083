// Pictures by programs that draw them, where they are installed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "thalweg/status.h"

namespace thalweg {

struct DrawingProgram {
  std::string program, package;  // "dot", of Debian's "graphviz"
  std::vector<std::string> arguments;
};

DrawingProgram graphviz_svg();  // Of a graph in the DOT language.
DrawingProgram gnuplot();       // Of a script that sets its own terminal.

// OK where the name of a picture's file ends as its form says; what is there and is no file, such as a pipe,
// may have any name. `png`: it may be of that form, too. kUsage, which names the flag.
Status check_picture_name(std::string_view flag, const std::string& path, bool png);

// What it writes when it reads `text`. kIo when it is not there or fails.
Result<std::string> drawn_by(const DrawingProgram& drawing, const std::string& text);

}  // namespace thalweg
