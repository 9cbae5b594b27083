// What the commands that are one node of a cluster share.
#pragma once

#include <chrono>

#include "cli/options/options.h"
#include "cli/view/output.h"
#include "thalweg/trainer.h"

namespace thalweg {

// Of `thalweg drain` and `scale`, while nobody takes their calls: as `thalweg status` waits unless told
// otherwise.
inline constexpr std::chrono::seconds kUnmetPatience{5};

// Where the scheduler is, and what a process that goes there needs to be heard. kUsage: --join is missing.
Result<NodeOptions> joining_node(const Options& options, Output& out);
// Of a server or worker.
Result<TrainNode> train_node(const Options& options, Output& out);
void warn_if_insecure(const NodeOptions& node, Output& out);
// With --quiet, which train --processes gives its nodes, what the scheduler shows is not said again.
Status ended(const TrainNodeEnd& end, Output& out);

}  // namespace thalweg
