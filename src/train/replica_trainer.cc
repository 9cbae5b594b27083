#include "train/replica_trainer.h"

#include <utility>

#include "client/replica/replica_store.h"
#include "model/model.h"
#include "train/algorithm_plan.h"

namespace thalweg {
namespace {

Result<std::vector<TableSpec>> tables_of(const TrainSpec& spec) {
  const auto model = make_model(spec.model);
  if (!model) return model.status();
  return (*model)->tables();
}

Task<Status> wait_loaded(Store& store, const TrainSpec& spec) {
  if (!spec.loads) co_return ok_status();
  co_return (co_await store.barrier(kLoadedBarrier)).status;
}

// With what the servers' dense tables hold.
Task<Status> fill(Replica& replica, Store& store) {
  for (std::uint16_t t = 0; t < replica.tables(); ++t) {
    if (!replica.is_dense(TableId{t})) continue;
    const Keys rows = Keys::block(0, replica.spec(TableId{t}).rows);
    const Answer answer = co_await store.read(TableId{t}, rows);
    if (!answer.status.ok()) co_return answer.status;
    if (Status status = replica.load(TableId{t}, answer.rows.span()); !status.ok()) co_return status;
  }
  co_return ok_status();
}

// Gives up a rank whose program fails or is destroyed where it waits, so that nobody waits for it. A rank
// that is a process says first why it fails: others would take it for lost.
class RankHeld {
 public:
  explicit RankHeld(const std::shared_ptr<ShardGroup>& ranks)
      : ranks_(ranks != nullptr && ranks->of_threads ? ranks : nullptr) {}
  ~RankHeld() {
    if (ranks_ != nullptr) ranks_->group.reset();
  }
  RankHeld(const RankHeld&) = delete;
  RankHeld& operator=(const RankHeld&) = delete;

  void release() { ranks_.reset(); }

 private:
  std::shared_ptr<ShardGroup> ranks_;
};

}  // namespace

Task<Status> train_by_algorithm(Store& store, std::shared_ptr<const TrainInputs> inputs,
                                std::shared_ptr<ShardGroup> ranks) {
  const TrainSpec& spec = inputs->spec;
  RankHeld rank(ranks);
  if (Status status = co_await wait_loaded(store, spec); !status.ok()) co_return status;
  const auto chosen = algorithm_of(spec);
  if (!chosen) co_return chosen.status();
  const auto make = chosen->algorithm->make;
  std::unique_ptr<ReplicaAlgorithm> algorithm;
  if (make != nullptr) algorithm = make(chosen->values, algorithm_shard(spec, store.shard(), ranks));
  if (algorithm == nullptr) co_return co_await train_shard(store, std::move(inputs));
  const auto tables = tables_of(spec);
  if (!tables) co_return tables.status();
  auto replica = Replica::make(*tables);
  if (!replica) co_return replica.status();
  if (spec.loads) {
    if (Status status = co_await fill(*replica, store); !status.ok()) co_return status;
  }
  // The steps of a group are its own: the servers' are those in which it meets and shows what it has.
  const Step first = ranks != nullptr ? Step{} : store.step();
  ReplicaStore replicas(store, std::move(replica).value(), std::move(algorithm), first, ranks);
  Status status = co_await train_shard(replicas, std::move(inputs));
  if (status.ok()) rank.release();
  co_return status;
}

Task<Status> train_in_process(Store& store, std::shared_ptr<const TrainInputs> inputs, MeetingPlace place) {
  const TrainSpec& spec = inputs->spec;
  if (spec.exchange.empty()) co_return co_await train_by_algorithm(store, std::move(inputs), nullptr);
  if (Status status = co_await wait_loaded(store, spec); !status.ok()) co_return status;
  const auto tables = tables_of(spec);
  const auto route = exchange_route(spec.exchange);
  for (const Status& status : {tables.status(), route.status()}) {
    if (!status.ok()) co_return status;
  }
  const auto ranks = std::make_shared<ShardGroup>();
  ranks->route = *route;
  const TableId meeting{static_cast<std::uint16_t>(tables->size())};
  Status met = co_await meet(store, meeting, spec.shards, std::move(place), *ranks);
  if (!met.ok()) co_return met;
  co_return co_await train_by_algorithm(store, std::move(inputs), ranks);
}

}  // namespace thalweg
