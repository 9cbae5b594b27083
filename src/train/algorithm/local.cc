#include "client/replica/apply_own.h"
#include "client/replica/group_rounds.h"
#include "train/algorithm/algorithm.h"

namespace thalweg {
namespace {

// x_i <- x_i - rate * g_i; behind each k-th step x_i <- mean of all x_j, optimizer's state and all.
class LocalSteps final : public ReplicaAlgorithm {
 public:
  LocalSteps(std::uint32_t every, std::shared_ptr<ShardGroup> ranks)
      : every_(every), rounds_(std::move(ranks)) {}

  Task<Status> end_step(ReplicaWork work) override {
    apply_own(work);
    if ((work.step.index + 1) % every_ != 0) co_return ok_status();
    Status status = co_await rounds_.mean(work.replica, {true, work.asked_to_close, 1});
    co_return co_await or_wait_for_the_end(rounds_.ranks(), std::move(status));
  }
  Task<Status> end_pass(ReplicaWork work) override {
    Status status;
    do {
      status = co_await rounds_.mean(work.replica, {false, work.asked_to_close, 1});
    } while (status.ok() && rounds_.any_has_step());
    co_return co_await or_wait_for_the_end(rounds_.ranks(), std::move(status));
  }
  Replica* shown(Replica& replica) override { return &replica; }
  bool closing(bool) const override { return rounds_.closing(); }

 private:
  const std::uint32_t every_;
  GroupRounds rounds_;
};

constexpr AlgorithmNumber kLocalNumbers[] = {{
    .placeholder = "K",
    .low = 1,
    .high = 1e6,
    .summary = "steps between two means",
}};

}  // namespace

extern constinit const Algorithm kLocalAlgorithm = {
    .name = "local",
    .summary = "each shard updates a replica of its own; every K steps all replicas become their mean",
    .result = "the same bits each time with the same data shards and exchange",
    .paper = "Stich, Local SGD converges fast and communicates little, ICLR 2019, algorithm 1",
    .numbers = kLocalNumbers,
    .group = Algorithm::Group::kAlways,
    .consistency = [](const AlgorithmValues&) { return Consistency::sync(); },
    .make = [](const AlgorithmValues& values, AlgorithmShard shard) -> std::unique_ptr<ReplicaAlgorithm> {
      return std::make_unique<LocalSteps>(values.whole(), std::move(shard.ranks));
    },
};

}  // namespace thalweg
