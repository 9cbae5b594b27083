// Random groups of ranks under random faults, one for each seed.
#pragma once

#include "cli/view/output.h"
#include "cli/work/seed_runs.h"
#include "thalweg/status.h"

namespace thalweg {

Status run_simulate_groups(const AskedSeeds& asked, Output& out);

}  // namespace thalweg
