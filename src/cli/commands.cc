#include "cli/commands.h"

namespace thalweg {
namespace {

// A row is read as a row.
// clang-format off
constexpr Command kCommands[] = {
    {.path = "train", .summary = "Train a model on rows of features", .example = "thalweg train clicks.svm --valid-part 10 --out model",
     .run = run_train, .arguments = "FILE...", .arguments_min = 1, .arguments_max = 100000},
    {.path = "node scheduler", .summary = "Run the scheduler of a training job whose other nodes join by hand",
     .example = "thalweg node scheduler --listen 127.0.0.1:7100 --servers 1 --workers 2 --out model",
     .run = run_node_scheduler, .arguments = "[FILE...]", .arguments_max = 100000},
    {.path = "node server", .summary = "Run one server: a keeper of parameters",
     .example = "thalweg node server --join 127.0.0.1:7100", .run = run_node_server},
    {.path = "node worker", .summary = "Run one worker: a reader of data",
     .example = "thalweg node worker --join 127.0.0.1:7100 -- clicks.svm", .run = run_node_worker,
     .arguments = "[FILE...]", .arguments_max = 100000},
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
