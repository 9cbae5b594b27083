// Which algorithm a training uses, by which exchange, and whether that makes sense together.
#pragma once

#include <vector>

#include "model/model_kind.h"
#include "thalweg/group.h"
#include "thalweg/trainer.h"
#include "train/algorithm/algorithm.h"
#include "train/train_spec.h"

namespace thalweg {

// Sets the spec's algorithm, exchange, shards and mixing weights; returns the consistency of the servers.
// kUsage for combinations that make no sense.
Result<Consistency> plan_algorithm(const TrainerOptions& options, const ModelKind& kind, TrainSpec& spec);

// The algorithm of a spec that was planned, here or at the scheduler. Errors: kRefused.
Result<ChosenAlgorithm> algorithm_of(const TrainSpec& spec);
// One of its data shards, as the algorithm sees it. `spec` outlives it.
AlgorithmShard algorithm_shard(const TrainSpec& spec, ShardId shard, std::shared_ptr<ShardGroup> ranks);
// Rows whose gradients make one update of a parameter.
std::uint32_t update_rows(const TrainSpec& spec);
// The route of an exchange by name, "auto" and "dense:auto" among them. Errors: kUsage.
Result<RouteChoice> exchange_route(const std::string& name);
// Whether data shards have replicas of the table, of which the servers get what a pass has made of it.
bool is_replicated(const TrainSpec& spec, const TableSpec& table);
// Whether the pass ends with a model that can be scored and kept.
bool makes_model(const TrainSpec& spec, std::uint32_t epoch);
// Whether workers pass on rows from the first moment, so that none may come from a file.
bool passes_on_rows(const TrainSpec& spec);
// Whether a data shard has what no server has: it would be lost where another worker went on with the shard.
bool has_own_state(const TrainSpec& spec);
// Whether rows that are learnt are scored by a replica that may be far from the model that servers have.
bool scores_by_replica(const TrainSpec& spec);
// What the servers of the job keep, for these tables of the model.
std::vector<TableSpec> server_tables(const TrainSpec& spec, std::vector<TableSpec> tables);

}  // namespace thalweg
