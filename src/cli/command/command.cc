#include "cli/command/command.h"

#include <algorithm>

namespace thalweg {

const Command* find_command(std::span<const Command> commands, std::string_view path) {
  const auto found = std::find_if(commands.begin(), commands.end(),
                                  [&](const Command& command) { return command.path == path; });
  return found == commands.end() ? nullptr : &*found;
}

const Command* match_command(std::span<const Command> commands, std::span<const std::string> words) {
  if (words.size() >= 2) {
    if (const Command* both = find_command(commands, words[0] + " " + words[1])) return both;
  }
  return words.empty() ? nullptr : find_command(commands, words[0]);
}

bool is_command_group(std::span<const Command> commands, std::string_view word) {
  return std::any_of(commands.begin(), commands.end(), [&](const Command& command) {
    return command.path.size() > word.size() && command.path.substr(0, word.size()) == word &&
           command.path[word.size()] == ' ';
  });
}

}  // namespace thalweg
