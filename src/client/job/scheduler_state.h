// Where a job's scheduler keeps its state, opened by a process that takes the lead of the job.
#pragma once

#include <memory>
#include <string>

#include "net/real_clock.h"
#include "net/system_disk.h"
#include "node/state_store.h"
#include "scheduler/kept_state.h"

namespace thalweg {

struct SchedulerState {
  SystemDisk disk;
  RealClock clock;
  std::unique_ptr<StateStore> store;
  KeptState kept;
};

// `place`: a directory, which is made where there is nothing. kUsage: another process has it.
Result<std::unique_ptr<SchedulerState>> open_scheduler_state(const std::string& place);

}  // namespace thalweg
