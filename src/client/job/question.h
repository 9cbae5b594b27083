// How a process that takes no part in a job asks its scheduler something.
#pragma once

#include "node/node.h"
#include "thalweg/node.h"
#include "thalweg/status.h"

namespace thalweg {

// Gives `asker` turns, under a name that nobody else has, until it has finished, for at most
// `options.patience`; then kTimeout, as if nobody had answered.
Status ask_scheduler(const NodeOptions& options, Node& asker);

Status unreadable_answer();

}  // namespace thalweg
