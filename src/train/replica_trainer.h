// Training of one data shard by the job's algorithm: straight through the store, or on a replica of its own.
#pragma once

#include <memory>

#include "client/replica/shard_group.h"
#include "train/shard_trainer.h"

namespace thalweg {

// `ranks`: what the shard has of the job's group, where its shards form one; else null.
Task<Status> train_by_algorithm(Store& store, std::shared_ptr<const TrainInputs> inputs,
                                std::shared_ptr<ShardGroup> ranks);

// The same where each shard is a process: they meet first, where they form a group.
Task<Status> train_in_process(Store& store, std::shared_ptr<const TrainInputs> inputs, MeetingPlace place);

}  // namespace thalweg
