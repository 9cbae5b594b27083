#include "cli/work/simulated_run.h"

#include <cmath>

#include "cli/options/memory_limit.h"
#include "cli/options/sizes.h"
#include "cli/options/trainer_options.h"

namespace thalweg {
namespace {

constexpr std::uint32_t kWorkers = 4;

Duration duration_of(double seconds) {
  return Duration{static_cast<std::int64_t>(std::llround(seconds * 1e9))};
}

}  // namespace

Result<TrainerOptions> wanted_simulated_training(const Options& options) {
  const auto memory = memory_limit(options);
  if (!memory) return memory.status();
  TrainerOptions wanted = trainer_options(options, *memory);
  if (wanted.workers == 0) wanted.workers = kWorkers;
  if (wanted.servers == 0) wanted.servers = 1;
  if (wanted.algorithm.empty()) wanted.algorithm = "sync";
  if (!wanted.data_shards) wanted.data_shards = wanted.workers;
  return wanted;
}

Status check_simulation_option(std::string_view name, const std::string& text) {
  if (name == "compute") return sim::ComputeTime::parse(text).status();
  if (name == "straggler") return sim::Stragglers::parse(text).status();
  if (name == "bandwidth") return parse_size(text, "--bandwidth").status();
  return ok_status();
}

Result<TrainSimulation> wanted_simulation(const Options& options) {
  TrainSimulation out;
  const auto compute = sim::ComputeTime::parse(options.text("compute"));
  if (!compute) return compute.status();
  out.compute = *compute;
  if (const auto text = options.maybe_text("straggler")) {
    const auto stragglers = sim::Stragglers::parse(*text);
    if (!stragglers) return stragglers.status();
    out.stragglers = *stragglers;
  }
  out.latency = duration_of(options.real("latency"));
  if (const auto text = options.maybe_text("bandwidth")) {
    const auto bytes = parse_size(*text, "--bandwidth");
    if (!bytes) return bytes.status();
    out.bytes_per_second = static_cast<double>(*bytes);
  }
  out.stop_after = duration_of(options.maybe_real("stop-after").value_or(0));
  return out;
}

}  // namespace thalweg
