// A job as its starter asks for it: whether it can be, and what its scheduler is to do.
#pragma once

#include "scheduler/scheduler.h"
#include "thalweg/job.h"

namespace thalweg {

// kUsage, naming the option that is wrong.
Status check(const JobOptions& options);

// Whose programs the job's workers run, which decides when the silence of one is its loss.
enum class Programs {
  kOfTrainer,      // Their turns are short: after 10 s, or half of a shorter timeout.
  kOfApplication,  // thalweg/job.h promises them half of the timeout.
};

// Drivers add the job's number and its observer.
SchedulerOptions scheduler_options(const JobOptions& job, Programs programs);

}  // namespace thalweg
