// Sums over ranks of the dense gradients of a step, which travel while others are still being computed where
// that is likely to take less time.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "client/replica/group_rounds.h"
#include "exchange/pipeline/bucket_layout.h"
#include "thalweg/gradients.h"

namespace thalweg {

// Of one rank. All ranks push to the same tables in any order, then call sum(), which ends when all have.
// Errors: those of groups; kNonFinite where a sum is no number.
class DenseSums {
 public:
  explicit DenseSums(std::shared_ptr<ShardGroup> ranks) : ranks_(std::move(ranks)) {}
  ~DenseSums();
  DenseSums(const DenseSums&) = delete;
  DenseSums& operator=(const DenseSums&) = delete;

  // The step has its push to a dense table. A failure is sum()'s.
  void pushed(const Replica& replica, TableId table, const StepPush& push, bool asked_to_close);
  // Ends the step: applies the sums to each dense table of the replica, if any rank had a step.
  Task<Status> sum(Replica& replica, GroupRounds::Mine mine);

  // As the last call found it.
  bool any_has_step() const { return any_has_step_; }
  bool closing() const { return closing_; }

 private:
  Status prepare(const Replica& replica);
  std::span<float> tensor(std::size_t number);
  Status begin(std::size_t number);
  Status wait_early(std::size_t number);
  Task<Status> sum_buckets();
  Status tell(const GroupRounds::Mine& mine);
  Status give(const Replica& replica, TableId table, const StepPush& push, const GroupRounds::Mine& mine);
  Status apply(Replica& replica);

  const std::shared_ptr<ShardGroup> ranks_;
  std::vector<std::size_t> tensors_;  // By table.
  std::vector<bool> given_;           // By tensor; the last one has the words of a step.
  std::optional<Gradients> early_;    // None: all buckets are summed when the step ends.
  std::optional<BucketLayout> layout_;
  std::span<float> memory_;  // Of that layout.
  Status failure_;
  bool any_has_step_ = false;
  bool closing_ = false;
};

}  // namespace thalweg
