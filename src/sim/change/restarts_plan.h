// Everything that one seed decides before a job that dies as a whole, again and again.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/instant.h"
#include "base/random.h"
#include "sim/cluster/plan.h"
#include "thalweg/ids.h"
#include "thalweg/options.h"

namespace thalweg::sim {

// From one death of everything to the next.
struct LifePlan {
  Plan cluster;  // Its servers, copies and workers, and what goes wrong; what all lives have in common is not
                 // in it.
  std::uint64_t events = 0;  // After which everything dies, unless it is the last.
  // When checkpoints are kept: by steps or by time.
  std::uint32_t every_steps = 0;
  Duration every{};
  std::uint32_t whole_every = 1;      // Of so many checkpoints one has all rows.
  std::size_t cut_piece_bytes = 0;    // Of rows, that are stored in one turn.
  std::optional<std::uint64_t> loss;  // The event at which a worker is lost, and another takes its place.
  bool loses_server = false;          // With it.
};

struct RestartsPlan {
  static constexpr std::uint32_t kPassesMax = 3, kStepsMax = 15, kRowsMax = 12, kLivesMax = 5;
  static constexpr TableId kSparse{0}, kDense{1}, kLedger{2};

  std::uint64_t seed = 0;
  std::uint32_t shards = 1;
  Consistency consistency;
  std::array<std::uint16_t, 3> ranges = {1, 1, 1};  // Of each table.
  std::uint32_t passes = kPassesMax;
  std::uint32_t steps = kStepsMax;  // Of one shard's pass, at most.
  std::uint32_t rows = kRowsMax;
  std::vector<LifePlan> lives;

  std::vector<TableSpec> tables() const;
  // What one life's cluster is.
  Plan cluster(const LifePlan& life) const;
  // Shards' passes have different lengths, so that steps come that lie beyond the end of some.
  std::uint32_t steps_of(ShardId shard, std::uint32_t pass) const;
  Random random(ShardId shard, Step step) const;
  // Of the sparse table.
  std::vector<Key> keys(ShardId shard, Step step) const;
  // What a step adds to a row.
  float number(ShardId shard, Step step, std::uint64_t key) const;
  // The ledger's row.
  std::uint64_t entry(ShardId shard, Step step) const {
    return (std::uint64_t{shard.value} * passes + step.epoch) * (std::uint64_t{steps} + 1) + step.index;
  }
  // Whether a push may come too late to count.
  bool drops() const;
};

RestartsPlan draw_restarts_plan(std::uint64_t seed);

}  // namespace thalweg::sim
