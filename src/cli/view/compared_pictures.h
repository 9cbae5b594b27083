// Pictures of how compared trainings went: losses, staleness, time to the target, throughput, idleness.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/view/compared.h"

namespace thalweg {

// Each as SVG and PNG, as far as there is something to draw; `at` begins their names. kIo.
Status draw_comparison(const std::string& at, const std::vector<ComparedTraining>& all,
                       const std::optional<Target>& target);

}  // namespace thalweg
