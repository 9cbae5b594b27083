// What all shards of a group settle at once: sums of sparse pushes, means of replicas, who still has steps to
// do.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "client/collective/sparse_all_reduce.h"
#include "client/replica/replica_algorithm.h"
#include "client/replica/shard_group.h"

namespace thalweg {

// Of one rank. All ranks make the same calls in the same order; none ends before all have made it. Errors:
// those of groups; kNonFinite where a sum is no number.
class GroupRounds {
 public:
  explicit GroupRounds(std::shared_ptr<ShardGroup> ranks) : ranks_(std::move(ranks)) {}
  ~GroupRounds();
  GroupRounds(const GroupRounds&) = delete;
  GroupRounds& operator=(const GroupRounds&) = delete;

  struct Mine {
    bool has_step = false;  // This rank has not come to the end of its pass.
    bool asked_to_close = false;
    double weight = 1;  // Of its replica in means.
  };
  // Adds up the ranks' pushes to sparse tables as servers do, by rank, and applies the sums to each replica.
  // `pushes`: by table, or none at all.
  Task<Status> sum_sparse(Replica& replica, std::span<const StepPush> pushes);
  // Makes each replica the weighted mean of all, with the optimizer's state; of sparse tables the rows that
  // any rank has updated since the last mean. Nothing changes where all weights are 0.
  Task<Status> mean(Replica& replica, Mine mine);
  // The weighted mean of dense tables alone, for `into`.
  Task<Status> mean_of_dense(const Replica& replica, Mine mine, Replica& into);

  // No more than what all know below.
  Task<Status> agree(Mine mine);

  // As the last call found it.
  bool has_mean() const { return weight_ > 0; }  // Not all weights are 0.
  bool any_has_step() const { return any_has_step_; }
  bool closing() const { return closing_; }

  ShardGroup& ranks() { return *ranks_; }

 private:
  // `floats` of the group's memory, and behind them the words of a round.
  Result<std::span<float>> vector_of(std::size_t floats);
  Task<Status> settle(std::span<float> vector, Mine mine);
  Task<Status> sum_sparse(Replica& replica, TableId table, const StepPush& push);
  Task<Status> mean_sparse(Replica& replica, TableId table, Mine mine);
  // Of all ranks, into sparse_.
  Task<Status> add_up(SparseCall call);

  const std::shared_ptr<ShardGroup> ranks_;
  std::span<float> memory_;
  SparseRows sparse_;
  double weight_ = 0;  // Of all ranks.
  bool any_has_step_ = false;
  bool closing_ = false;
};

}  // namespace thalweg
