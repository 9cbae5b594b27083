#include "client/replica/dense_sums.h"
#include "client/replica/group_rounds.h"
#include "train/algorithm/algorithm.h"

namespace thalweg {
namespace {

// x <- x - rate * sum over i of g_i(x): each step's gradients are all at the rows that the steps before have
// made, a superstep of Valiant's. By servers it is their consistency.

// Over the ranks of a group: each adds up all gradients of a step and applies the same update. Dense ones
// may travel while others are computed.
class SummedGradients final : public ReplicaAlgorithm {
 public:
  explicit SummedGradients(std::shared_ptr<ShardGroup> ranks) : dense_(ranks), rounds_(std::move(ranks)) {}

  void pushed(const ReplicaWork& work, TableId table) override {
    if (work.replica.is_dense(table))
      dense_.pushed(work.replica, table, work.pushes[table.value], work.asked_to_close);
  }
  Task<Status> end_step(ReplicaWork work) override {
    Status status = co_await round(work, true);
    co_return co_await or_wait_for_the_end(rounds_.ranks(), std::move(status));
  }
  Task<Status> end_pass(ReplicaWork work) override {
    Status status;
    do {
      status = co_await round(work, false);
    } while (status.ok() && dense_.any_has_step());
    co_return co_await or_wait_for_the_end(rounds_.ranks(), std::move(status));
  }
  Replica* shown(Replica& replica) override { return &replica; }
  bool closing(bool) const override { return dense_.closing(); }

 private:
  Task<Status> round(ReplicaWork work, bool has_step) {
    Status status = co_await dense_.sum(work.replica, {has_step, work.asked_to_close, 1});
    if (!status.ok() || !dense_.any_has_step()) co_return status;
    co_return co_await rounds_.sum_sparse(work.replica, has_step ? work.pushes : std::span<const StepPush>());
  }

  DenseSums dense_;
  GroupRounds rounds_;
};

// The same of dense gradients alone. Sparse ones have gone to the servers, which apply them in the same step.
class SummedDenseGradients final : public ReplicaAlgorithm {
 public:
  explicit SummedDenseGradients(std::shared_ptr<ShardGroup> ranks)
      : ranks_(std::move(ranks)), dense_(ranks_) {}

  bool keeps(const TableSpec& table) const override { return table.kind == TableSpec::Kind::kDense; }
  void pushed(const ReplicaWork& work, TableId table) override {
    dense_.pushed(work.replica, table, work.pushes[table.value], work.asked_to_close);
  }
  Task<Status> end_step(ReplicaWork work) override {
    Pending at_servers = work.shared.advance();
    (void)co_await work.shared.yield();  // Pushes leave before this waits for ranks that wait for them.
    if (Status status = co_await sum(work, true); !status.ok()) co_return status;
    co_return (co_await at_servers).status;
  }
  // Servers wait for a push of each shard in each step.
  Task<Status> end_pass(ReplicaWork work) override {
    for (;;) {
      Status status = co_await sum(work, false);
      if (!status.ok() || !dense_.any_has_step()) co_return status;
      Pending at_servers = work.shared.advance();
      (void)co_await work.shared.yield();
      if (status = (co_await at_servers).status; !status.ok()) co_return status;
    }
  }
  Replica* shown(Replica& replica) override { return &replica; }
  bool closing(bool) const override { return dense_.closing(); }

 private:
  Task<Status> sum(ReplicaWork work, bool has_step) {
    Status status = co_await dense_.sum(work.replica, {has_step, work.asked_to_close, 1});
    co_return co_await or_wait_for_the_end(*ranks_, std::move(status));
  }

  const std::shared_ptr<ShardGroup> ranks_;
  DenseSums dense_;
};

}  // namespace

extern constinit const Algorithm kSyncAlgorithm = {
    .name = "sync",
    .summary = "all shards' gradients of a step are one update, which the next step reads",
    .result = "the same bits on any number of workers and servers, whichever workers die",
    .paper = "Valiant, A bridging model for parallel computation, CACM 1990, the BSP model's supersteps",
    .combines = true,
    .group = Algorithm::Group::kIfAsked,
    .consistency = [](const AlgorithmValues&) { return Consistency::sync(); },
    .make = [](const AlgorithmValues&, AlgorithmShard shard) -> std::unique_ptr<ReplicaAlgorithm> {
      if (shard.ranks == nullptr) return nullptr;
      if (shard.dense_alone) return std::make_unique<SummedDenseGradients>(std::move(shard.ranks));
      return std::make_unique<SummedGradients>(std::move(shard.ranks));
    },
};

}  // namespace thalweg
