// How data shards that each have a replica of the tables learn together.
#pragma once

#include <cstdint>
#include <span>

#include "client/replica/replica.h"
#include "thalweg/store.h"
#include "thalweg/task.h"

namespace thalweg {

// A shard's push to one table in the step that ends.
struct StepPush {
  bool pushed = false;
  Keys keys;
  Rows grads;
};

// What an algorithm works on. All of it outlives the task that gets it.
struct ReplicaWork {
  Replica& replica;
  Store& shared;  // The tables of the servers; of this shard.
  Step step;
  std::span<const StepPush> pushes;  // By table; none at the end of a pass.
  bool asked_to_close = false;       // The job is to end early, as this shard knows.
  std::uint64_t rows = 0;            // That the step's gradients are sums over.
};

// Of one shard. A task may block while it waits for other shards, which all do the same at the same step; its
// failure fails the job.
class ReplicaAlgorithm {
 public:
  virtual ~ReplicaAlgorithm() = default;
  // Whether shards have the table on their replicas; pushes to others and pulls are the servers'.
  virtual bool keeps(const TableSpec& /*table*/) const { return true; }
  // Makes rows of the replica fit to be shown to the program.
  virtual Task<Status> before_pull(ReplicaWork, TableId, Keys) { co_return ok_status(); }
  // The step has its push to a table; those to other tables may still be computed.
  virtual void pushed(const ReplicaWork& /*work*/, TableId /*table*/) {}
  // Takes the step's pushes.
  virtual Task<Status> end_step(ReplicaWork work) = 0;
  // The shard has no more steps in this pass.
  virtual Task<Status> end_pass(ReplicaWork work) = 0;
  // What the servers are given when a pass ends, where they get it from the shards' replicas: one shard's.
  // Null: they got pushes, or the pass has made no model.
  virtual Replica* shown(Replica&) { return nullptr; }
  // Whether the job has been asked to end early, as all shards have agreed; `asked`: as this one knows.
  virtual bool closing(bool asked) const { return asked; }
};

}  // namespace thalweg
