#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/mix.h"
#include "client/replica/apply_own.h"
#include "client/replica/group_rounds.h"
#include "train/algorithm/algorithm.h"

namespace thalweg {
namespace {

// Who trains in a round, and who of them is heard at its end: functions of the seed alone, so that all shards
// know without asking.
class Rounds {
 public:
  Rounds(const AlgorithmValues& values, const AlgorithmShard& shard)
      : shards_(shard.shards),
        seed_(shard.seed),
        chosen_(std::clamp(static_cast<std::uint32_t>(std::lround(values["C"] * shard.shards)), 1u,
                           shard.shards)),
        drop_(values["drop"]) {}

  bool is_chosen(ShardId shard, std::uint32_t round) const { return rank_of(shard, round) < chosen_; }
  bool is_heard(ShardId shard, std::uint32_t round) const {
    const std::uint32_t rank = rank_of(shard, round);
    constexpr double kAll = 18446744073709551616.0;  // 2^64
    const bool drops = static_cast<double>(draw(shard, round, 1)) < drop_ * kAll;
    return rank < chosen_ &&
           (rank == 0 || !drops);  // The first is heard always, so that a round has a result.
  }

 private:
  std::uint64_t draw(ShardId shard, std::uint32_t round, std::uint64_t what) const {
    return place(place(place(seed_ ^ place(what)) ^ round) ^ shard.value);
  }
  // Among all shards, by their draws.
  std::uint32_t rank_of(ShardId shard, std::uint32_t round) const {
    std::uint32_t rank = 0;
    const std::uint64_t own = draw(shard, round, 0);
    for (std::uint32_t s = 0; s < shards_; ++s) rank += draw(ShardId{s}, round, 0) < own ? 1 : 0;
    return rank;
  }

  std::uint32_t shards_;
  std::uint64_t seed_;
  std::uint32_t chosen_;
  double drop_;
};

bool is_last_of_round(std::uint32_t passes, std::uint32_t pass, std::uint32_t epochs) {
  return (pass + 1) % passes == 0 || pass + 1 == epochs;
}

// w_k: E passes of SGD over the client's own rows, from w; then w <- sum of (n_k / n) w_k over the clients
// that are heard, where n_k is their rows. A job that is to end early ends its round with the pass.
class FederatedAverage final : public ReplicaAlgorithm {
 public:
  FederatedAverage(const AlgorithmValues& values, AlgorithmShard shard)
      : passes_(values.whole("E")),
        rounds_of_(values, shard),
        shard_(shard.shard),
        epochs_(shard.epochs),
        batch_rows_(shard.batch_rows),
        rounds_(std::move(shard.ranks)) {}

  // A step's gradient counts as that of a whole batch, however many rows are left for it.
  Task<Status> end_step(ReplicaWork work) override {
    rows_ += work.rows;
    apply_own(work, work.rows > 0 ? static_cast<float>(batch_rows_) / static_cast<float>(work.rows) : 1);
    co_return ok_status();
  }
  Task<Status> end_pass(ReplicaWork work) override {
    const std::uint32_t pass = work.step.epoch, round = pass / passes_;
    round_ended_ = is_last_of_round(passes_, pass, epochs_);
    Status status;
    if (!round_ended_) {
      status = co_await rounds_.agree({false, work.asked_to_close});
      round_ended_ = status.ok() && rounds_.closing();
    }
    if (round_ended_) {
      const auto rows = static_cast<double>(std::exchange(rows_, 0));
      const double weight = rounds_of_.is_heard(shard_, round) ? rows : 0;
      status = co_await rounds_.mean(work.replica, {false, work.asked_to_close, weight});
      // Who was heard had no rows: a round has a result, so the others are.
      if (status.ok() && !rounds_.has_mean())
        status = co_await rounds_.mean(work.replica, {false, work.asked_to_close, rows});
    }
    co_return co_await or_wait_for_the_end(rounds_.ranks(), std::move(status));
  }
  Replica* shown(Replica& replica) override { return round_ended_ ? &replica : nullptr; }
  bool closing(bool) const override { return rounds_.closing(); }

 private:
  const std::uint32_t passes_;
  const Rounds rounds_of_;
  const ShardId shard_;
  const std::uint32_t epochs_;
  const std::uint32_t batch_rows_;
  GroupRounds rounds_;
  bool round_ended_ = false;  // By the last pass.
  std::uint64_t rows_ = 0;    // Learnt in this round.
};

constexpr AlgorithmNumber kFederatedNumbers[] = {
    {.name = "C",
     .placeholder = "X",
     .low = 0,
     .high = 1,
     .whole = false,
     .fallback = 1,
     .summary = "part of the clients, which the data shards are, that train in a round; at least one does"},
    {.name = "E",
     .placeholder = "N",
     .low = 1,
     .high = 1e6,
     .fallback = 1,
     .summary = "passes over its rows that a client makes in a round"},
    {.name = "drop",
     .placeholder = "P",
     .low = 0,
     .high = 0.999999,
     .whole = false,
     .fallback = 0,
     .summary = "chance that a client which trained is not heard at the end of the round"},
};

}  // namespace

extern constinit const Algorithm kFederatedAlgorithm = {
    .name = "fedavg",
    .summary = "some shards each make passes over their own rows; then all take the mean, by rows, of these",
    .result = "the same bits each time with the same data shards and exchange",
    .paper =
        "McMahan et al., Communication-efficient learning of deep networks from decentralized data, "
        "AISTATS 2017, algorithm 1",
    .numbers = kFederatedNumbers,
    .group = Algorithm::Group::kAlways,
    .consistency = [](const AlgorithmValues&) { return Consistency::sync(); },
    .make = [](const AlgorithmValues& values, AlgorithmShard shard) -> std::unique_ptr<ReplicaAlgorithm> {
      return std::make_unique<FederatedAverage>(values, std::move(shard));
    },
    .takes_part =
        [](const AlgorithmValues& values, const AlgorithmShard& shard, std::uint32_t epoch) {
          return Rounds(values, shard).is_chosen(shard.shard, epoch / values.whole("E"));
        },
    .makes_model = [](const AlgorithmValues& values, std::uint32_t epoch,
                      std::uint32_t epochs) { return is_last_of_round(values.whole("E"), epoch, epochs); },
};

}  // namespace thalweg
