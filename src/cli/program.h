// The program from its words to its exit code.
#pragma once

#include <cstdio>
#include <span>
#include <string>

#include "cli/command/command.h"
#include "cli/options/resolve.h"

namespace thalweg {

// With `more` commands than the program has of itself.
int run_program(std::span<const std::string> words, const Variables& variables, bool color,
                std::FILE* results, std::FILE* people, std::span<const Command> more = {});

}  // namespace thalweg
