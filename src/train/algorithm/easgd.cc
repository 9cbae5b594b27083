#include <unordered_set>
#include <utility>
#include <vector>

#include "client/replica/apply_own.h"
#include "client/replica/fetch.h"
#include "train/algorithm/algorithm.h"

namespace thalweg {
namespace {

// x_i <- x_i - rate * g_i; behind each tau-th step d = rho * (x_i - c), x_i <- x_i - d and c <- c + d, where
// c, the centre, is what the servers have and what the model is.
class ElasticAverage final : public ReplicaAlgorithm {
 public:
  ElasticAverage(const AlgorithmValues& values, std::uint32_t shards)
      : every_(values.whole("tau")), part_(static_cast<float>(part(values["rho"], shards))) {}

  // A replica begins at the centre.
  Task<Status> before_pull(ReplicaWork work, TableId table, Keys keys) override {
    known_.resize(work.replica.tables());
    if (!work.replica.is_dense(table)) {
      co_return co_await fetch(work, table, unknown_keys(keys, known_[table.value]));
    }
    if (!known_[table.value].insert(0).second) co_return ok_status();
    co_return co_await fetch(work, table, Keys::block(0, work.replica.spec(table).rows));
  }

  Task<Status> end_step(ReplicaWork work) override {
    apply_own(work);
    moved_ = true;
    if ((work.step.index + 1) % every_ == 0) {
      if (Status status = co_await meet_centre(work); !status.ok()) co_return status;
    }
    co_return (co_await work.shared.advance()).status;
  }

  Task<Status> end_pass(ReplicaWork work) override {
    if (!moved_) co_return ok_status();
    if (Status status = co_await meet_centre(work); !status.ok()) co_return status;
    co_return (co_await work.shared.advance()).status;
  }

 private:
  // All shards together move the centre by less than their distance: the paper's beta.
  static double part(double rho, std::uint32_t shards) {
    constexpr double kBeta = 0.9;
    return rho > 0 ? rho : kBeta / shards;
  }
  Task<Status> meet_centre(ReplicaWork work) {
    moved_ = false;
    for (std::uint16_t t = 0; t < work.replica.tables(); ++t) {
      const TableId table{t};
      const Keys keys = work.replica.is_dense(table) ? Keys::block(0, work.replica.spec(table).rows)
                                                     : placed_keys(work.replica.take_touched(table));
      if (keys.size() == 0) continue;
      const Answer centre = co_await work.shared.pull(table, keys);
      if (!centre.status.ok()) co_return centre.status;
      const Rows own = work.replica.read(table, keys);
      std::vector<float> moves(own.size()), rows(own.size());
      for (std::size_t i = 0; i < own.size(); ++i) {
        moves[i] = part_ * (own[i] - centre.rows[i]);
        rows[i] = own[i] - moves[i];
      }
      work.replica.write(table, keys, rows);
      work.shared.push(table, keys, Rows(std::move(moves))).forget();
    }
    co_return ok_status();
  }

  const std::uint32_t every_;
  const float part_;
  std::vector<std::unordered_set<std::uint64_t>> known_;  // By table: rows that have been fetched.
  bool moved_ = false;                                    // Since the last time at the centre.
};

constexpr AlgorithmNumber kElasticNumbers[] = {
    {.name = "tau",
     .placeholder = "N",
     .low = 1,
     .high = 1e6,
     .fallback = 4,
     .summary = "steps from one exchange with the centre to the next"},
    {.name = "rho",
     .placeholder = "X",
     .low = 0,
     .high = 1,
     .whole = false,
     .fallback = 0,
     .summary = "part of their distance by which shard and centre each move, the paper's alpha, best below 1 "
                "over the data shards; 0 is 0.9 over them"},
};

}  // namespace

extern constinit const Algorithm kElasticAlgorithm = {
    .name = "easgd",
    .summary = "each shard updates a replica; every tau steps it and a centre move towards each other",
    .result = "depends on timing",
    .paper = "Zhang, Choromanska, LeCun, Deep learning with elastic averaging SGD, NIPS 2015, algorithm 1",
    .numbers = kElasticNumbers,
    .sums = true,
    .state = false,
    .consistency = [](const AlgorithmValues&) { return Consistency::async(); },
    .make = [](const AlgorithmValues& values, AlgorithmShard shard) -> std::unique_ptr<ReplicaAlgorithm> {
      return std::make_unique<ElasticAverage>(values, shard.shards);
    },
};

}  // namespace thalweg
