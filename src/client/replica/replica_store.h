// The shared parameters as replicas, one of each data shard: pushes go to the shard's own replica, and an
// algorithm makes replicas agree, by other ranks of a group or by the servers. Reads that are for looking
// only show what the servers have.
#pragma once

#include <list>
#include <memory>
#include <vector>

#include "base/completion.h"
#include "client/replica/replica_algorithm.h"
#include "client/replica/request_task.h"
#include "client/replica/shard_group.h"
#include "thalweg/store.h"

namespace thalweg {

class ReplicaStore final : public Store {
 public:
  // `shared` outlives the store; its first tables are the replica's. The program begins at step `first`.
  ReplicaStore(Store& shared, Replica replica, std::unique_ptr<ReplicaAlgorithm> algorithm, Step first,
               std::shared_ptr<ShardGroup> ranks = nullptr);
  ~ReplicaStore() override;

  ShardId shard() const override { return shared_.shard(); }
  bool closing() const override { return algorithm_->closing(shared_.closing()); }
  Step step() const override { return step_; }
  Pending push(TableId table, Keys keys, Rows grads) override;
  Pending pull(TableId table, Keys keys) override;
  Pending read(TableId table, Keys keys) override { return begin(read_shown(table, std::move(keys))); }
  void learnt(std::uint64_t rows) override {
    rows_ += rows;
    shared_.learnt(rows);
  }
  Pending advance() override;
  Pending end_epoch() override;
  Pending end_work() override;
  Pending barrier(BarrierId id) override { return shared_.barrier(id); }
  Pending report(ReportId id, std::string text) override { return shared_.report(id, std::move(text)); }
  Pending yield() override { return shared_.yield(); }

 private:
  bool keeps(TableId table) const {
    return table.value >= replica_.tables() || algorithm_->keeps(replica_.spec(table));
  }
  // Runs what a request is, until it waits; the request is done when the task is.
  Pending begin(Task<Answer> work);
  void tell_exchanged();
  Task<Answer> pulled(TableId table, Keys keys);
  Task<Answer> advanced();
  Task<Answer> epoch_ended();
  Task<Answer> read_shown(TableId table, Keys keys);
  Task<Status> publish(Replica& shown);
  Task<Status> publish_keys(Replica& shown, TableId table);
  ReplicaWork work() { return {replica_, shared_, step_, pushes_, shared_.closing(), rows_}; }
  void forget_pushes();
  const Status& stopped() const { return failure_.ok() ? refusals_.forgotten() : failure_; }

  Store& shared_;
  Replica replica_;
  std::unique_ptr<ReplicaAlgorithm> algorithm_;
  const std::shared_ptr<ShardGroup> ranks_;  // Null where shards form no group.
  Step step_;
  std::vector<StepPush> pushes_;  // By table.
  std::uint64_t rows_ = 0;
  Status failure_;  // The first; what later requests repeat.
  Refusals refusals_;
  std::list<RequestTask> running_;
};

}  // namespace thalweg
