// Requests of an embedded cluster's data shards as calls that block the application's thread.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "client/local_cluster.h"
#include "thalweg/job.h"

namespace thalweg {

class BlockingStore::Calls {
 public:
  Calls(LocalCluster& cluster, std::uint32_t shards) : cluster_(cluster), ends_(shards) {}

  using Begin = std::function<Pending(ShardStore&)>;
  // Begins a request in a turn of the shard's owner and waits for its answer.
  Answer call(ShardId shard, Timeout timeout, const Begin& begin);
  // The same for what ends a step, an epoch or the work. A call that gave up leaves its end under way; the
  // next one waits for that first, since a store ends one thing at a time.
  Answer end(ShardId shard, Timeout timeout, const Begin& begin);
  Step clock(ShardId shard);
  Answer scan(TableId table, RangeId range);
  Instant deadline(Timeout timeout) const;
  // The answer, or kTimeout once `deadline` has passed.
  Answer wait(ShardId shard, Instant deadline, const std::shared_ptr<Completion>& completion);
  // While `why` is not null, requests are refused with it.
  void refuse(const char* why) { refusal_ = why; }

 private:
  Status refused(const Worker& worker) const;

  LocalCluster& cluster_;
  std::vector<std::shared_ptr<Completion>> ends_;  // By shard: the last end(); for turns of its owner.
  std::atomic<const char*> refusal_{nullptr};
};

}  // namespace thalweg
