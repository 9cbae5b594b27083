// How a process that takes no part in a job asks its scheduler something.
#pragma once

#include <string>
#include <string_view>

#include "node/node.h"
#include "thalweg/node.h"
#include "thalweg/status.h"

namespace thalweg {

// Gives `asker` turns, under a name that nobody else has, until it has finished, for at most
// `options.patience`, or `unmet_patience` while nobody takes its calls; then kTimeout, as if nobody had
// answered.
Status ask_scheduler(const NodeOptions& options, Node& asker);

// That nobody has answered within `options.patience`; `complaint`: what its driver has said last, if
// anything.
Status no_answer(std::string_view whom, const NodeOptions& options, const std::string& complaint);

Status unreadable_answer();

}  // namespace thalweg
