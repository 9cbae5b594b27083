// What every data shard does in each of its steps, as a pure function of (seed, shard, step, table), so that
// any worker can do it and an oracle can tell the outcome without running it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "base/random.h"
#include "sim/cluster/plan.h"
#include "thalweg/store.h"

namespace thalweg::sim {

// Each shard counts its pushes to a table in a row of its own: rows [0, shards) of a dense table, these keys
// of a sparse one.
inline constexpr Key kCounters = 1'000'000;

// Rows that one request names, in the store's order.
struct RowSet {
  Keys keys;
  std::vector<Key> rows;  // User keys or dense row numbers, in the order of the rows.
};

// As ShardStore::load() takes them.
struct RowsToLoad {
  std::vector<std::uint64_t> keys;
  std::vector<float> values;
};

class Workload {
 public:
  explicit Workload(const Plan& plan);

  const Plan& plan() const { return plan_; }
  std::uint32_t steps(ShardId shard, std::uint32_t epoch) const { return plan_.steps[shard.value][epoch]; }
  // Rule kAdd: pushed values are whole numbers, so that sums are exact in any order.
  bool whole(TableId table) const { return plan_.tables[table.value].rule.kind == RuleKind::kAdd; }

  // Whether each push is applied, so that the sum of all is known. Precondition: whole(table).
  bool sums_all() const { return !plan_.consistency.drops_late(); }

  // Rows that a range begins with where the plan loads some; no counters among them.
  RowsToLoad loaded(TableId table, RangeId range) const;

  // What a shard pulls and pushes in a step; empty when nothing. For a table that is no whole(), both are
  // equal.
  std::optional<RowSet> pulled(TableId table, ShardId shard, Step step) const;
  std::optional<RowSet> pushed(TableId table, ShardId shard, Step step) const;
  // The gradients of a push; `read` is what the step's pull gave (used unless whole()).
  std::vector<float> gradients(TableId table, ShardId shard, Step step, const RowSet& rows,
                               std::span<const float> read) const;
  // A random look at a table after an epoch; all counters among it.
  RowSet looked_at(TableId table, ShardId shard, std::uint32_t epoch) const;

  // How many pushes `shard` makes to `table` before `step`; steps beyond an epoch's end count as its end.
  std::uint32_t pushes_before(TableId table, ShardId shard, Step step) const;
  // The shard whose counter a row is.
  std::optional<ShardId> counter_of(TableId table, Key row) const;
  // Each touched row's value after all steps of the epochs up to `epoch`. Precondition: whole(table).
  const std::map<Key, std::vector<float>>& oracle(TableId table, std::uint32_t epoch) const;

 private:
  Random random(TableId table, ShardId shard, Step step, std::uint64_t purpose) const;
  RowSet sparse_rows(Random& random, std::span<const Key> always, std::uint32_t count_max) const;
  RowSet dense_rows(Random& random, std::uint64_t first_max, std::uint64_t end_min, std::uint64_t rows) const;

  Plan plan_;
  std::vector<std::vector<std::vector<std::vector<std::uint32_t>>>> before_;  // Table, shard, epoch, index.
  mutable std::map<std::pair<TableId, std::uint32_t>, std::map<Key, std::vector<float>>> oracles_;
};

}  // namespace thalweg::sim
