// Training of one data shard by the job's algorithm: straight through the store, or on a replica of its own.
#pragma once

#include <memory>

#include "client/job/job_cluster.h"
#include "client/replica/shard_group.h"
#include "train/shard_trainer.h"

namespace thalweg {

// A shard's store as its program sees it, which may be another one around it, and itself.
struct ShardStores {
  Store& seen;
  ShardStore& own;
};
Task<Status> train_by_algorithm(ShardStores stores, std::shared_ptr<const TrainInputs> inputs);
// The same where the job's shards form a group, of which this one has `ranks`.
Task<Status> train_in_group(ShardStores stores, std::shared_ptr<const TrainInputs> inputs,
                            std::shared_ptr<ShardGroup> ranks);

// Either where each shard is a process: they meet first, where they form a group.
Task<Status> train_in_process(ShardStore& store, std::shared_ptr<const TrainInputs> inputs,
                              MeetingPlace place);

}  // namespace thalweg
