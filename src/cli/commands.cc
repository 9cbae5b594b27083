#include "cli/commands.h"

namespace thalweg {
namespace {

// A row is read as a row.
// clang-format off
constexpr Command kCommands[] = {
    {.path = "train", .summary = "Train a model on rows of features", .example = "thalweg train clicks.svm --valid-part 10 --out model",
     .run = run_train, .arguments = "FILE...", .arguments_min = 1, .arguments_max = 100000},
    {.path = "doctor", .summary = "Look at this machine for what slows training down or stops it",
     .example = "thalweg doctor", .run = run_doctor},
    {.path = "config show", .summary = "Show the value of every option, of one command or of all",
     .example = "thalweg config show train --rate 0.1 --origin", .run = run_config_show,
     .arguments = "[COMMAND]", .arguments_max = 1, .about_command = true},
    {.path = "completion", .summary = "Print a completion script for a shell",
     .example = "thalweg completion bash > ~/.local/share/bash-completion/completions/thalweg",
     .run = run_completion, .arguments = "bash|zsh|fish", .arguments_min = 1, .arguments_max = 1},
    {.path = "version", .summary = "Show the version and how the program was built",
     .example = "thalweg version --deps", .run = run_version},
    {.path = "help", .summary = "Show help on a command, or the manual page",
     .example = "thalweg help config show", .run = run_help, .arguments = "[COMMAND]", .arguments_max = 1,
     .about_command = true},
};
// clang-format on

}  // namespace

std::span<const Command> program_commands() { return kCommands; }

}  // namespace thalweg
