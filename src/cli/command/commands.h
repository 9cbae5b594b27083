// The commands of the program. Each has a file of its own in this folder.
#pragma once

#include <span>

#include "cli/command/command.h"

namespace thalweg {

// Every command that the program has, in the order of the help.
std::span<const Command> program_commands();

}  // namespace thalweg
