// What came of the trainings of a sweep.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "cli/view/output.h"
#include "thalweg/trainer.h"

namespace thalweg {

// A line each for people, the best first, and "sweep" of `json`; nothing where there was one training.
void tell_of_sweep(const TrainResult& result, Output& out, nlohmann::ordered_json& json);

}  // namespace thalweg
