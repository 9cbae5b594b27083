// The commands of the program. Each has a file of its own or shares one with its kin.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "cli/command/command.h"
#include "cli/options/options.h"
#include "cli/view/output.h"

namespace thalweg {

// Every command that the program has, in the order of the help.
std::span<const Command> program_commands();

Status run_train(const Options& options, Output& out);
Status run_node_scheduler(const Options& options, Output& out);
Status run_node_server(const Options& options, Output& out);
Status run_node_worker(const Options& options, Output& out);
Status run_predict(const Options& options, Output& out);
Status run_eval(const Options& options, Output& out);
Status run_model_inspect(const Options& options, Output& out);
Status run_model_export(const Options& options, Output& out);
Status run_model_diff(const Options& options, Output& out);
Status run_model_digest(const Options& options, Output& out);
Status run_data_check(const Options& options, Output& out);
Status run_data_stats(const Options& options, Output& out);
Status run_data_split(const Options& options, Output& out);
Status run_data_synth(const Options& options, Output& out);
Status run_run(const Options& options, Output& out);
Status run_bench_exchange(const Options& options, Output& out);
Status run_bench_parse(const Options& options, Output& out);
Status run_simulate_faults(const Options& options, Output& out);
// The same of groups; seeds from `first` to `end` - 1. `trace` may be empty.
Status run_simulate_groups(std::uint64_t first, std::uint64_t end,
                           const std::function<void(std::string_view line)>& trace, Output& out);
Status run_simulate_exchange(const Options& options, Output& out);
Status run_topo_show(const Options& options, Output& out);
Status run_topo_bench(const Options& options, Output& out);
Status run_topo_plan(const Options& options, Output& out);
Status run_doctor(const Options& options, Output& out);
Status run_config_show(const Options& options, Output& out);
Status run_completion(const Options& options, Output& out);
Status run_version(const Options& options, Output& out);
Status run_help(const Options& options, Output& out);

}  // namespace thalweg
