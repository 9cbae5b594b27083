// Completion scripts, read off the command list and the option table.
#pragma once

#include <span>
#include <string>

#include "cli/command/command.h"

namespace thalweg {

std::string bash_completion(std::span<const Command> commands);
std::string zsh_completion(std::span<const Command> commands);
std::string fish_completion(std::span<const Command> commands);

}  // namespace thalweg
