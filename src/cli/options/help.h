// Help and the manual page, read off the command list and the option table.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "cli/command/command.h"

namespace thalweg {

std::string program_help(std::span<const Command> commands);
// All commands that begin with `word`.
std::string group_help(std::span<const Command> commands, std::string_view word);
std::string command_help(const Command& command);
std::string manual_page(std::span<const Command> commands, std::string_view version);

}  // namespace thalweg
