// The words after the program's name, sorted into command, options and arguments.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cli/command/command.h"
#include "cli/options/option_table.h"

namespace thalweg {

struct CommandLine {
  struct Given {
    const OptionRow* row;
    std::string text;
  };
  std::span<const Command> commands;  // Of the program.
  const Command* command = nullptr;   // Null with `help`: help on `topic`, or on the program.
  const Command* about = nullptr;     // Named by a command that takes one.
  std::string topic;                  // A group of commands, such as "model".
  bool help = false;
  std::string (*explain)() = nullptr;  // Not null: a flag asks for what its values mean.
  std::vector<Given> given;
  std::vector<std::string> arguments;

  bool in_scope(const OptionRow& row) const;
};

// The error for words that begin with no command, naming the nearest one.
Status unknown_command(std::span<const Command> commands, std::span<const std::string> words);

// Checks names and numbers of arguments, not values.
Result<CommandLine> parse_command_line(std::span<const Command> commands, std::span<const std::string> words);

}  // namespace thalweg
