#include "cli/work/train_run.h"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "cli/options/memory_limit.h"
#include "cli/options/trainer_options.h"
#include "cli/stops_together.h"
#include "cli/work/checkpoint_options.h"

namespace thalweg {

Result<TrainerOptions> wanted_training(const Options& options) {
  const auto memory = memory_limit(options);
  if (!memory) return memory.status();
  TrainerOptions wanted = trainer_options(options, *memory);
  auto checkpoint = checkpoint_options(options);
  if (!checkpoint) return checkpoint.status();
  wanted.checkpoint = *std::move(checkpoint);
  if (Status status = set_kept(options, wanted); !status.ok()) return status;
  wanted.threads = static_cast<std::uint32_t>(options.maybe_integer("threads").value_or(0));
  return wanted;
}

TrainResult run_trainer(const Options& options, Trainer& trainer) {
  if (!options.flag("processes")) return trainer.run();
  TrainProcesses processes;
  const auto node = [&options](const char* role) {
    return std::vector<std::string>{"node",
                                    role,
                                    "--join",
                                    "{scheduler}",
                                    "--secret-file",
                                    "{secret}",
                                    "--quiet",
                                    "--memory",
                                    "{memory}",
                                    "--grace",
                                    fmt::format("{}", options.real("grace"))};
  };
  processes.server = node("server");
  processes.server.insert(processes.server.end(), {"--threads", "{threads}"});
  processes.worker = node("worker");
  const StopsTogether stops;
  return trainer.run(processes);
}

}  // namespace thalweg
