// A running job as its starter sees it, whatever drives its nodes.
#pragma once

#include <string>

#include "base/instant.h"
#include "scheduler/scheduler.h"
#include "thalweg/status.h"

namespace thalweg {

// Functions may be called from one thread, outside any program.
class Cluster {
 public:
  virtual ~Cluster() = default;
  // Blocks for at most `wait` while the job runs; true once it is over, however it ended.
  virtual bool wait(Duration wait) = 0;
  // How the job ended. Precondition: wait() returned true.
  virtual Status status() = 0;
  virtual ClusterView view() = 0;
  // Nodes that have not joined yet, in words; empty once all have.
  virtual std::string missing() = 0;
  virtual void close() = 0;                     // Asks the shards to end early.
  virtual void stop(const Status& status) = 0;  // Ends the job at once.
  virtual void end_soon() {}                    // As Scheduler has it.
  // Why what changes cannot be kept, so that nothing that follows from it is done; empty: it can, or need
  // not.
  virtual std::string trouble() { return {}; }
  // As Scheduler has them. Where none are taken they do nothing.
  virtual void ask_checkpoint() {}
  // As Checkpoints::on_completed().
  virtual void complete_checkpoint(std::uint64_t /*number*/, const Status& /*status*/, bool /*whole_next*/) {}
};

}  // namespace thalweg
