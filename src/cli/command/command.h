// A command as help, completion and the parser see it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "thalweg/status.h"

namespace thalweg {

class Options;
class Output;

struct Command {
  std::string_view path;     // "model inspect"
  std::string_view summary;  // One sentence without a full stop.
  std::string_view example;  // A whole command line.
  Status (*run)(const Options&, Output&) = nullptr;
  std::string_view arguments = {};  // "FILE...", "DIR DIR", or words to choose from: "bash|zsh|fish".
  int arguments_min = 0;
  int arguments_max = 0;
  bool about_command = false;  // Its argument names another command, whose flags it takes as well.
};

// A command whose words begin `words`, the longest one; null when there is none.
const Command* match_command(std::span<const Command> commands, std::span<const std::string> words);
const Command* find_command(std::span<const Command> commands, std::string_view path);
// Whether some command begins with this word and needs a second one.
bool is_command_group(std::span<const Command> commands, std::string_view word);

}  // namespace thalweg
