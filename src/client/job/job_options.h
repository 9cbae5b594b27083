// A job as its starter asks for it: whether it can be, and what its scheduler is to do.
#pragma once

#include "scheduler/scheduler.h"
#include "thalweg/job.h"

namespace thalweg {

// kUsage, naming the option that is wrong.
Status check(const JobOptions& options);

// Drivers add the job's number and its observer. A node's silence is its loss after 10 s, or half of a
// shorter timeout.
SchedulerOptions scheduler_options(const JobOptions& job);

// JobOptions::replicas of a job whose servers are processes, which can be lost one by one.
std::uint32_t replicas_of_processes(std::uint32_t wanted, std::uint32_t servers, Consistency consistency);

}  // namespace thalweg
