// Where a job's scheduler keeps its state, opened by a process that takes the lead of the job.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "client/job/lead.h"
#include "net/real_clock.h"
#include "net/system_disk.h"
#include "node/state_store.h"
#include "scheduler/kept_state.h"
#include "thalweg/state_tls.h"

namespace thalweg {

struct StatePlace {
  std::string where;  // A directory, which is made where there is nothing, or as parse_etcd_place() has it.
  StateTls tls;
  std::string leader;    // This process, in words for others.
  bool standby = false;  // Waits for as long as another one leads; else only for a lease to end.
  // While it waits, for whom; false: it need not wait any more.
  std::function<bool(Duration waited, const std::string& whom)> waiting;
  // Of a standby, once there is a job that it waits for: an error ends the wait.
  std::function<Status(std::string_view image)> fits = {};
};

struct SchedulerState {
  SystemDisk disk;
  RealClock clock;
  std::unique_ptr<StateStore> store;
  KeptState kept;
  std::unique_ptr<Lead> lead;  // Where others could take it.
};

// kUsage: another process has it. kAborted: it need not wait any more.
Result<std::unique_ptr<SchedulerState>> open_scheduler_state(const StatePlace& place);

}  // namespace thalweg
