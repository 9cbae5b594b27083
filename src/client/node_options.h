// Whether a process can take part in a job in the way asked for.
#pragma once

#include "thalweg/node.h"

namespace thalweg {

// kUsage, naming the option that is wrong; addresses are looked at when they are used. Says in the log where
// anybody may take part.
Status check(const NodeOptions& options);

}  // namespace thalweg
