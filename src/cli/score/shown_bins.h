// Reliability bins as eval shows them.
#pragma once

#include <nlohmann/json.hpp>

#include "cli/options/options.h"
#include "cli/view/output.h"
#include "model/metric/metric_sums.h"
#include "model/model.h"
#include "thalweg/status.h"

namespace thalweg {

// Whether a model of this loss has any, where --bins asks for them.
Status check_bins(const Options& options, Loss loss);
// --bins of `rows`, as a table and as what --json has. Precondition: check_bins().
nlohmann::ordered_json tell_of_bins(const Options& options, ExactAuc& rows, Output& out);

}  // namespace thalweg
