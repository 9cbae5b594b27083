#include "cli/command/commands.h"

namespace thalweg {
namespace {

constexpr int kMany = 1 << 30;

// A row is read as a row.
// clang-format off
constexpr Command kCommands[] = {
    {.path = "train", .summary = "Train a model on rows of features",
     .example = "thalweg train clicks.svm --valid-part 10 --out model", .run = run_train,
     .arguments = "FILE...", .arguments_min = 1, .arguments_max = kMany},
    {.path = "node scheduler",
     .summary = "Run the scheduler of a training job whose other nodes join by hand",
     .example = "thalweg node scheduler --listen 127.0.0.1:7100 --servers 1 --workers 2 --out model",
     .run = run_node_scheduler, .arguments = "[FILE...]", .arguments_max = kMany},
    {.path = "node server", .summary = "Run one server: a keeper of parameters",
     .example = "thalweg node server --join 127.0.0.1:7100", .run = run_node_server},
    {.path = "node worker", .summary = "Run one worker: a reader of data",
     .example = "thalweg node worker --join 127.0.0.1:7100 -- clicks.svm", .run = run_node_worker,
     .arguments = "[FILE...]", .arguments_max = kMany},
    {.path = "run", .summary = "Start the ranks of a program, each with variables that say which one it is",
     .example = "thalweg run -n 4 -- ./program --its-own-flag", .run = run_run,
     .arguments = "PROGRAM...", .arguments_min = 1, .arguments_max = kMany},
    {.path = "predict", .summary = "Score each row of the input with a model, one prediction a line",
     .example = "thalweg predict --model runs/ctr test.svm -o scores.txt", .run = run_predict,
     .arguments = "FILE...", .arguments_min = 1, .arguments_max = kMany},
    {.path = "eval", .summary = "Measure a model on rows with labels",
     .example = "thalweg eval --model runs/ctr test.svm", .run = run_eval, .arguments = "FILE...",
     .arguments_min = 1, .arguments_max = kMany},
    {.path = "model inspect", .summary = "Show what a model holds and how it was trained",
     .example = "thalweg model inspect runs/ctr", .run = run_model_inspect, .arguments = "DIR",
     .arguments_min = 1, .arguments_max = 1},
    {.path = "model export", .summary = "Write a model for other programs",
     .example = "thalweg model export runs/ctr --format npz -o ctr.npz", .run = run_model_export,
     .arguments = "DIR", .arguments_min = 1, .arguments_max = 1},
    {.path = "model diff", .summary = "Compare the keys and values of two models",
     .example = "thalweg model diff runs/old runs/new", .run = run_model_diff, .arguments = "DIR DIR",
     .arguments_min = 2, .arguments_max = 2},
    {.path = "model digest", .summary = "Print a hash of a model's keys and values",
     .example = "thalweg model digest runs/ctr", .run = run_model_digest, .arguments = "DIR",
     .arguments_min = 1, .arguments_max = 1},
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
    {.path = "bench exchange", .summary = "Measure an operation among ranks, in the columns of nccl-tests",
     .example = "thalweg bench exchange --ranks 2 --transport shm --op all-reduce --bytes 4K:64M",
     .run = run_bench_exchange},
    {.path = "bench parse", .summary = "Measure how fast the input is read, apart from any training",
     .example = "thalweg bench parse clicks.svm --threads 1", .run = run_bench_parse,
     .arguments = "FILE...", .arguments_min = 1, .arguments_max = kMany},
    {.path = "simulate faults",
     .summary = "Run random clusters in which any node, link or clock may fail, and check what they promise",
     .example = "thalweg simulate faults --seeds 0:1000", .run = run_simulate_faults},
    {.path = "simulate exchange", .summary = "Run one exchange over simulated links and report its time and bytes",
     .example = "thalweg simulate exchange --topology pcie-box --route all --bytes 160M --no-pipeline",
     .run = run_simulate_exchange},
    {.path = "topo bench", .summary = "Measure the link between two ranks of this machine, and fit a model to it",
     .example = "thalweg topo bench --transport tcp --room here.toml", .run = run_topo_bench},
    {.path = "topo show", .summary = "Show the nodes, links and levels of a machine room, or draw it",
     .example = "thalweg topo show dgx1v", .run = run_topo_show, .arguments = "FILE-OR-PRESET",
     .arguments_min = 1, .arguments_max = 1},
    {.path = "topo plan", .summary = "Rank the routes that an exchange could take by their predicted times",
     .example = "thalweg topo plan --topology dgx1v --op all-reduce --bytes 160M", .run = run_topo_plan},
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
