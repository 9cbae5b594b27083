#include "cli/commands.h"

namespace thalweg {
namespace {

constexpr int kMany = 1 << 30;

// A row is read as a row.
// clang-format off
constexpr Command kCommands[] = {
    {.path = "data check", .summary = "Read every row and report those that cannot be read",
     .example = "thalweg data check clicks.svm.gz", .run = run_data_check, .arguments = "FILE...",
     .arguments_min = 1, .arguments_max = kMany},
    {.path = "data stats", .summary = "Count rows, features, labels and distinct keys",
     .example = "thalweg data stats 'day_*.tsv.zst' --format criteo", .run = run_data_stats,
     .arguments = "FILE...", .arguments_min = 1, .arguments_max = kMany},
    {.path = "data split", .summary = "Write every N-th row to one file and the others to another",
     .example = "thalweg data split clicks.svm --valid-part 10 --out parts", .run = run_data_split,
     .arguments = "FILE...", .arguments_min = 1, .arguments_max = kMany},
    {.path = "data synth", .summary = "Make a data set in the shape of Criteo's click logs from a seed",
     .example = "thalweg data synth --rows 1000000 --seed 7 -o clicks.svm", .run = run_data_synth},
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
