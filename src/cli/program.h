// The program from its words to its exit code.
#pragma once

#include <cstdio>
#include <span>
#include <string>

#include "cli/options/resolve.h"

namespace thalweg {

int run_program(std::span<const std::string> words, const Variables& variables, bool color,
                std::FILE* results, std::FILE* people);

}  // namespace thalweg
