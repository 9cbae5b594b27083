#include "train/plan/algorithm_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "client/replica/replica.h"
#include "client/replica/replica_algorithm.h"
#include "client/replica/shard_group.h"
#include "thalweg/wait_limit.h"
#include "train/algorithm/mixing.h"

namespace thalweg {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kServers = "servers";
constexpr std::string_view kDenseAlone = "dense:";  // What a route may be of.
// Each shard pushes a gradient of every parameter of a dense model.
constexpr std::uint32_t kShards = 8, kDenseShards = 2;

bool is_of_dense_alone(std::string_view exchange) { return exchange.starts_with(kDenseAlone); }

std::string text_of(const Consistency& consistency) {
  switch (consistency.kind) {
    case Consistency::Kind::kSync:
      return "sync";
    case Consistency::Kind::kBounded:
      return fmt::format("ssp:{}", consistency.bound);
    case Consistency::Kind::kAsync:
      return "async";
    case Consistency::Kind::kBackup:
      return fmt::format("backup:{}", consistency.bound);
    case Consistency::Kind::kMaxWait:
      return fmt::format("max-wait:{}us", *wait_limit(consistency) / 1us);
    case Consistency::Kind::kSoftsync:
      return fmt::format("softsync:{}", consistency.bound);
    case Consistency::Kind::kFreeSoftsync:
      return fmt::format("rudra-adv:{}", consistency.bound);
  }
  return {};
}

Result<ChosenAlgorithm> choose(const TrainerOptions& options) {
  const Consistency wanted = options.consistency.value_or(Consistency::sync());
  auto chosen = choose_algorithm(options.algorithm.empty() ? text_of(wanted) : options.algorithm);
  if (chosen && !options.algorithm.empty() && options.consistency && wanted != chosen->consistency) {
    return Status(
        Code::kUsage,
        fmt::format("--algorithm {} and another consistency are both given; expected one of the two",
                    options.algorithm));
  }
  return chosen;
}

Status check_exchange(const TrainerOptions& options, const Algorithm& algorithm) {
  const bool by_servers = options.exchange.empty() || options.exchange == kServers;
  if (!by_servers) {
    if (const auto route = exchange_route(options.exchange); !route) return route.status();
  }
  if (!by_servers && algorithm.group == Algorithm::Group::kUnused) {
    return {Code::kUsage, fmt::format("--exchange {} makes no sense with --algorithm {}, whose updates are "
                                      "the servers' as pushes come; expected sync, or no --exchange",
                                      options.exchange, algorithm.name)};
  }
  if (options.exchange == kServers && algorithm.group == Algorithm::Group::kAlways) {
    return {Code::kUsage, fmt::format("--exchange servers makes no sense with --algorithm {}, whose shards "
                                      "talk to each other; expected auto, ring, tree, ...",
                                      algorithm.name)};
  }
  if (is_of_dense_alone(options.exchange) && algorithm.group != Algorithm::Group::kIfAsked) {
    return {Code::kUsage,
            fmt::format("--exchange {} makes no sense with --algorithm {}, whose shards have "
                        "replicas of every table; expected sync, or a route for all, such as {}",
                        options.exchange, algorithm.name, options.exchange.substr(kDenseAlone.size()))};
  }
  return ok_status();
}

Status check_servers(const TrainerOptions& options, const Algorithm& algorithm) {
  if (!algorithm.one_server || options.servers <= 1) return ok_status();
  return {Code::kUsage, fmt::format("--servers {} makes no sense with --algorithm {}, which has one server; "
                                    "expected 1, or softsync:N, which is the same by any number",
                                    options.servers, algorithm.name)};
}

Status check_combining(const TrainerOptions& options, const ChosenAlgorithm& chosen, const TrainSpec& spec) {
  const Algorithm& algorithm = *chosen.algorithm;
  if (options.combine.kind == Combining::Kind::kNone) return ok_status();
  if (algorithm.combining != nullptr) {
    if (options.combine == algorithm.combining(chosen.values)) return ok_status();
    return {Code::kUsage, fmt::format("--combine and --algorithm {} are both given, which says by tree=K how "
                                      "pushes are added up; expected one of the two",
                                      algorithm.name)};
  }
  if (!algorithm.combines) {
    return {Code::kUsage, fmt::format("--combine makes no sense with --algorithm {}: where each push is an "
                                      "update of its own, none may be added to another; expected sync or "
                                      "softsync:N",
                                      algorithm.name)};
  }
  if (spec.exchange.empty() || is_of_dense_alone(spec.exchange)) return ok_status();
  return {Code::kUsage,
          fmt::format("--combine makes no sense with --exchange {}: nothing is pushed to servers",
                      spec.exchange)};
}

Status check_model(const TrainerOptions& options, const Algorithm& algorithm, const ModelKind& kind) {
  if (!algorithm.sparse && kind.dense == nullptr) {
    return {Code::kUsage,
            fmt::format("--algorithm {} makes no sense with --model {}: in each step {} all rows that there "
                        "are; expected a dense model, or another algorithm",
                        algorithm.name, kind.name,
                        algorithm.group == Algorithm::Group::kUnused ? "workers would pass on"
                                                                     : "neighbours would send each other")};
  }
  for (const auto& rule : {options.optimizer, options.factor_optimizer}) {
    if (algorithm.state || rule != RuleKind::kFtrl) continue;
    return {Code::kUsage,
            fmt::format("--algorithm {} makes no sense with --optimizer ftrl, whose weights follow from sums "
                        "that a shard does not have; expected sgd, adagrad or another",
                        algorithm.name)};
  }
  return ok_status();
}

Status choose_shards(const TrainerOptions& options, const ModelKind& kind, TrainSpec& spec) {
  if (spec.exchange.empty()) {
    spec.shards =
        options.data_shards.value_or(kind.dense != nullptr || kind.deep != nullptr ? kDenseShards : kShards);
    return ok_status();
  }
  const std::uint32_t cores = std::max(1u, std::thread::hardware_concurrency());
  spec.shards = options.data_shards.value_or(options.workers != 0 ? options.workers : cores);
  if (options.workers == 0 || options.workers == spec.shards) return ok_status();
  return {Code::kUsage,
          fmt::format("--workers {} and --data-shards {}: shards that talk to each other need a "
                      "worker each; expected the same number, or one of the two",
                      options.workers, spec.shards)};
}

// A step that waits for nobody would be no step.
Status check_backups(const Consistency& consistency, std::uint32_t shards) {
  if (consistency.kind != Consistency::Kind::kBackup || consistency.bound < shards) return ok_status();
  return {Code::kUsage,
          fmt::format("--algorithm backup:{0}: a step of {1} data shards cannot do without {0} of them; "
                      "expected 0 to {2}, or more --data-shards",
                      consistency.bound, shards, shards - 1)};
}

}  // namespace

Result<RouteChoice> exchange_route(const std::string& name) {
  const std::string of = is_of_dense_alone(name) ? name.substr(kDenseAlone.size()) : name;
  if (of == "auto") return RouteChoice();
  auto route = RouteChoice::named(of);
  if (route && route->servers() == 0) return route;
  if (route) {
    return Status(Code::kUsage, fmt::format("--exchange {}: its last {} data shards would be servers, whose "
                                            "own gradients count for nothing; expected servers, auto, ring, "
                                            "tree, ...",
                                            name, route->servers()));
  }
  return Status(route.status().code(),
                fmt::format("--exchange {}: {}; or auto; or dense: before one of these; or servers", name,
                            route.status().message()));
}

Result<Consistency> plan_algorithm(const TrainerOptions& options, const ModelKind& kind, TrainSpec& spec) {
  auto chosen = choose(options);
  if (!chosen) return chosen.status();
  const Algorithm& algorithm = *chosen->algorithm;
  if (Status status = check_exchange(options, algorithm); !status.ok()) return status;
  spec.algorithm = options.algorithm.empty() ? text_of(chosen->consistency) : options.algorithm;
  spec.exchange = options.exchange == kServers ? std::string() : options.exchange;
  if (spec.exchange.empty() && algorithm.group == Algorithm::Group::kAlways) spec.exchange = "auto";
  for (const Status& status : {check_servers(options, algorithm), check_combining(options, *chosen, spec),
                               check_model(options, algorithm, kind)}) {
    if (!status.ok()) return status;
  }
  if (Status status = choose_shards(options, kind, spec); !status.ok()) return status;
  if (Status status = check_backups(chosen->consistency, spec.shards); !status.ok()) return status;
  if (!algorithm.word.empty()) {
    auto mixing = mixing_matrix(chosen->values.word, spec.shards);
    if (!mixing) return mixing.status();
    spec.mixing = std::move(mixing->weights);
  }
  return chosen->consistency;
}

Result<ChosenAlgorithm> algorithm_of(const TrainSpec& spec) {
  auto chosen = choose_algorithm(spec.algorithm);
  if (chosen) return chosen;
  return Status(Code::kRefused, "the scheduler's job: " + chosen.status().message());
}

AlgorithmShard algorithm_shard(const TrainSpec& spec, ShardId shard, std::shared_ptr<ShardGroup> ranks) {
  return {shard,           spec.shards, spec.epochs,      spec.shard_batch_rows(),
          spec.model.seed, spec.mixing, std::move(ranks), is_of_dense_alone(spec.exchange)};
}

std::uint32_t update_rows(const TrainSpec& spec) {
  const auto chosen = algorithm_of(spec);
  if (!chosen) return spec.batch_rows;
  // Softsync divides pushes by their number, and by staleness, which together come to the number of shards.
  const bool alone =
      chosen->algorithm->group == Algorithm::Group::kAlways || chosen->consistency.counts_pushes();
  return alone ? spec.shard_batch_rows() : spec.batch_rows;
}

bool has_own_state(const TrainSpec& spec) {
  if (!spec.exchange.empty()) return true;
  const auto chosen = algorithm_of(spec);
  if (!chosen || chosen->algorithm->make == nullptr) return false;
  return chosen->algorithm->make(chosen->values, algorithm_shard(spec, ShardId{0}, nullptr)) != nullptr;
}

// What adds up gradients by a group has the servers' model in each replica.
bool scores_by_replica(const TrainSpec& spec) {
  const auto chosen = algorithm_of(spec);
  return chosen && chosen->algorithm->make != nullptr &&
         chosen->algorithm->group != Algorithm::Group::kIfAsked;
}

bool makes_model(const TrainSpec& spec, std::uint32_t epoch) {
  const auto chosen = algorithm_of(spec);
  return !chosen || chosen->algorithm->makes_model == nullptr ||
         chosen->algorithm->makes_model(chosen->values, epoch, spec.epochs);
}

bool passes_on_rows(const TrainSpec& spec) {
  const auto chosen = algorithm_of(spec);
  return chosen && chosen->algorithm->combining != nullptr &&
         chosen->algorithm->combining(chosen->values).kind == Combining::Kind::kTreeBothWays;
}

bool is_replicated(const TrainSpec& spec, const TableSpec& table) {
  if (spec.exchange.empty()) return false;
  return table.kind == TableSpec::Kind::kDense || !is_of_dense_alone(spec.exchange);
}

std::vector<TableSpec> server_tables(const TrainSpec& spec, std::vector<TableSpec> tables) {
  const auto chosen = algorithm_of(spec);
  for (TableSpec& table : tables) {
    if (is_replicated(spec, table)) table = shown_table(std::move(table));
    if (chosen && chosen->algorithm->sums) table.rule.kind = RuleKind::kAdd;
  }
  if (!spec.exchange.empty()) tables.push_back(meeting_table());
  return tables;
}

}  // namespace thalweg
