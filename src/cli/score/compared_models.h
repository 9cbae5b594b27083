// Several models side by side on the same rows.
#pragma once

#include <string>
#include <vector>

#include "cli/options/options.h"
#include "cli/view/output.h"
#include "thalweg/status.h"

namespace thalweg {

// Metrics of each, and how those of others differ from the first one's, with intervals of 95 %.
Status compare_models(const Options& options, const std::vector<std::string>& directories, Output& out);

}  // namespace thalweg
