#include "train/simulated/simulation.h"

#include <fmt/format.h>

#include "base/hint.h"

namespace thalweg {

Status check_simulated(const TrainerOptions& chosen) {
  for (const std::string& file : chosen.files) {
    if (file == "-") return {Code::kUsage, "rows must be in files here, not in a pipe"};
  }
  if (chosen.exchange.empty() || chosen.exchange == "servers") return ok_status();
  return with_hint(
      {Code::kUsage,
       fmt::format("--algorithm {} by --exchange {} is not simulated: its shards talk to each other",
                   chosen.algorithm.empty() ? "sync" : chosen.algorithm, chosen.exchange)},
      "simulate an algorithm by servers; thalweg simulate exchange has the time of routes");
}

}  // namespace thalweg
