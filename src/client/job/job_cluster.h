// A cluster whose stores the application's own threads use.
#pragma once

#include <functional>

#include "client/job/cluster.h"
#include "worker/worker.h"

namespace thalweg {

// For callers outside any program, from any thread.
class JobCluster : public Cluster {
 public:
  // Blocks until stores may be used; the job's status if it ends before.
  virtual Status wait_started() = 0;
  // Whether the data shards are of this process. Otherwise one store that can only look stands for each.
  virtual bool has_shards() const = 0;
  // Whether the calling thread runs a program of this cluster, which must not wait for it.
  virtual bool in_program() const = 0;
  // Runs `act` as a turn of the worker that has the shard's store, once its program does not compute.
  // Precondition, of the next one too: wait_started() has returned OK.
  virtual void turn(ShardId shard, const std::function<void(Worker&, ShardStore&)>& act) = 0;
  // Blocks until `done`, evaluated between turns of that worker, holds; false after `deadline`.
  virtual bool wait_until(ShardId shard, const std::function<bool(const Worker&)>& done,
                          Instant deadline) = 0;
  // Blocks until `done`, evaluated between turns of the scheduler, holds; false once the job is over.
  virtual bool wait_until(const std::function<bool()>& done) = 0;
  // Waits until every worker of this process knows that the job is over, and has destroyed what is left of
  // its programs.
  virtual void wait_programs_gone() = 0;
  virtual Instant now() const = 0;
};

}  // namespace thalweg
