// Whether a process can take part in a job in the way asked for.
#pragma once

#include <cstdint>

#include "thalweg/node.h"

namespace thalweg {

// kUsage, naming the option that is wrong; addresses are looked at when they are used. Says in the log where
// other machines may come.
Status check(const NodeOptions& options);

// What `insecure_no_auth` risks, for people.
std::string risk(const NodeOptions& options);

// The secret of the job that the process takes part in; the scheduler's makes the file that is to hold it.
Result<Secret> job_secret(const NodeOptions& options, bool is_scheduler);

// An id that a process has until the scheduler has named it; told apart by chance.
std::uint32_t temporary_index();

}  // namespace thalweg
