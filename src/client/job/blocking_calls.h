// Requests of a cluster's data shards as calls that block the application's thread.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "client/birth.h"
#include "client/job/job_cluster.h"
#include "thalweg/job.h"

namespace thalweg {

class BlockingStore::Calls {
 public:
  // `interrupted` as of JobOptions, `refusal` as for refuse().
  Calls(JobCluster& cluster, std::uint32_t shards, std::function<bool()> interrupted, const char* refusal)
      : cluster_(cluster), ends_(shards), interrupted_(std::move(interrupted)), refusal_(refusal) {}

  using Begin = std::function<Pending(ShardStore&)>;
  // Begins a request in a turn of the shard's owner and waits for its answer.
  Answer call(ShardId shard, Timeout timeout, const Begin& begin);
  // The same for what looks at rows only: where the shards are others', it is not refused.
  Answer look(ShardId shard, Timeout timeout, const Begin& begin);
  // The same for what ends a step, an epoch or the work. A call that gave up leaves its end under way; the
  // next one waits for that first, since a store ends one thing at a time.
  Answer end(ShardId shard, Timeout timeout, const Begin& begin);
  Step clock(ShardId shard);
  Answer scan(TableId table, RangeId range);
  Instant deadline(Timeout timeout) const;
  // The answer, kTimeout once `deadline` has passed, or kAborted once it is interrupted.
  Answer wait(ShardId shard, Instant deadline, const std::shared_ptr<Completion>& completion);
  // While `why` is not null, requests are refused with it.
  void refuse(const char* why) { refusal_ = why; }

 private:
  using Act = std::function<Status(Worker&, ShardStore&)>;
  // The status of the start, or of `act`, a turn of the shard's owner.
  Status turn(ShardId shard, const Act& act);
  // Blocks until `done` or the deadline; true if it was interrupted before.
  bool wait_until(ShardId shard, const std::function<bool(const Worker&)>& done, Instant deadline);
  Status over(const Worker& worker) const;
  Status refused(const Worker& worker) const;
  Answer call(ShardId shard, Timeout timeout, const Begin& begin, bool may_refuse);

  JobCluster& cluster_;
  std::vector<std::shared_ptr<Completion>> ends_;  // By shard: the last end(); for turns of its owner.
  const std::function<bool()> interrupted_;
  std::atomic<const char*> refusal_;
  const Birth birth_;
};

}  // namespace thalweg
