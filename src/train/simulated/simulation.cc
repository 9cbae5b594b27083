#include "train/simulated/simulation.h"

namespace thalweg {

Status check_simulated(const TrainerOptions& chosen) {
  for (const std::string& file : chosen.files) {
    if (file == "-") return {Code::kUsage, "rows must be in files here, not in a pipe"};
  }
  return ok_status();
}

}  // namespace thalweg
