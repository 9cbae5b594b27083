#include "train/replica_trainer.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "client/replica/replica_store.h"
#include "model/model.h"
#include "train/plan/algorithm_plan.h"
#include "train/warm_start/scans_ahead.h"

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

// What a shard has of its own where its algorithm wants that; else there is no algorithm.
struct OwnReplica {
  std::unique_ptr<ReplicaAlgorithm> algorithm;
  std::optional<Replica> replica;
};
Result<OwnReplica> make_own(const TrainSpec& spec, ShardId shard, std::shared_ptr<ShardGroup> ranks) {
  const auto chosen = algorithm_of(spec);
  if (!chosen) return chosen.status();
  OwnReplica own;
  if (const auto make = chosen->algorithm->make)
    own.algorithm = make(chosen->values, algorithm_shard(spec, shard, std::move(ranks)));
  if (own.algorithm == nullptr) return own;
  const auto tables = tables_of(spec);
  if (!tables) return tables.status();
  auto replica = Replica::make(*tables);
  if (!replica) return replica.status();
  own.replica = std::move(replica).value();
  return own;
}

// With what the servers' dense tables hold.
Task<Status> fill_dense(Replica& replica, Store& store) {
  for (std::uint16_t t = 0; t < replica.tables(); ++t) {
    if (!replica.is_dense(TableId{t})) continue;
    const Keys rows = Keys::block(0, replica.spec(TableId{t}).rows);
    const Answer answer = co_await store.read(TableId{t}, rows);
    if (!answer.status.ok()) co_return answer.status;
    if (Status status = replica.load(TableId{t}, answer.rows.span()); !status.ok()) co_return status;
  }
  co_return ok_status();
}

// What a scan has found; where no state was loaded, without the room for it.
Status load_range(Replica& replica, TableId table, RangeId range, const Answer& found, bool with_state) {
  if (found.keys.empty()) return ok_status();
  const std::size_t width = found.rows.size() / found.keys.size(), dim = replica.spec(table).dim;
  if (with_state || width == dim) return replica.load(table, range, {found.keys, found.rows.span(), width});
  std::vector<float> rows;
  rows.reserve(found.keys.size() * dim);
  for (std::size_t i = 0; i < found.keys.size(); ++i) {
    const auto row = found.rows.span().subspan(i * width, dim);
    rows.insert(rows.end(), row.begin(), row.end());
  }
  return replica.load(table, range, {found.keys, rows, dim});
}

// With all rows that the servers show of this table.
Task<Status> fill(Replica& replica, TableId table, ShardStore& store, bool with_state) {
  ScansAhead scans(store, table, replica.spec(table).ranges);
  for (std::uint16_t range = 0; range < replica.spec(table).ranges; ++range) {
    const Answer found = co_await scans.next();
    if (!found.status.ok()) co_return found.status;
    if (Status status = load_range(replica, table, RangeId{range}, found, with_state); !status.ok())
      co_return status;
  }
  // Servers have these rows as they are, but for a state that was not loaded.
  if (with_state && !replica.is_dense(table)) (void)replica.take_changed(table);
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

Task<Status> train_by_algorithm(ShardStores stores, std::shared_ptr<const TrainInputs> inputs) {
  Store& store = stores.seen;
  const TrainSpec& spec = inputs->spec;
  if (!spec.reached.empty()) stores.own.begin_with(spec.reached[store.shard().value]);
  if (Status status = co_await wait_loaded(store, spec); !status.ok()) co_return status;
  auto made = make_own(spec, store.shard(), nullptr);
  if (!made) co_return made.status();
  if (made->algorithm == nullptr) co_return co_await train_shard(store, std::move(inputs));
  if (spec.loads) {
    if (Status status = co_await fill_dense(*made->replica, store); !status.ok()) co_return status;
  }
  ReplicaStore replicas(store, *std::move(made->replica), std::move(made->algorithm), store.step());
  co_return co_await train_shard(replicas, std::move(inputs));
}

Task<Status> train_in_group(ShardStores stores, std::shared_ptr<const TrainInputs> inputs,
                            std::shared_ptr<ShardGroup> ranks) {
  Store& store = stores.seen;
  const TrainSpec& spec = inputs->spec;
  RankHeld rank(ranks);
  if (Status status = co_await wait_loaded(store, spec); !status.ok()) co_return status;
  auto made = make_own(spec, store.shard(), ranks);
  if (!made) co_return made.status();
  Replica& replica = *made->replica;
  for (std::uint16_t t = 0; t < replica.tables() && spec.loads; ++t) {
    if (!is_replicated(spec, replica.spec(TableId{t}))) continue;
    if (Status status = co_await fill(replica, TableId{t}, stores.own, spec.loads_state); !status.ok())
      co_return status;
  }
  // The steps of a group are its own: the servers' are those in which it meets and shows what it has, too.
  ReplicaStore replicas(store, std::move(replica), std::move(made->algorithm), Step{}, ranks);
  Status status = co_await train_shard(replicas, std::move(inputs));
  if (status.ok()) rank.release();
  co_return status;
}

Task<Status> train_in_process(ShardStore& store, std::shared_ptr<const TrainInputs> inputs,
                              MeetingPlace place) {
  const TrainSpec& spec = inputs->spec;
  if (spec.exchange.empty()) co_return co_await train_by_algorithm({store, store}, std::move(inputs));
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
  co_return co_await train_in_group({store, store}, std::move(inputs), ranks);
}

}  // namespace thalweg
