// One data shard's own copy of all tables of a job: every row with its optimizer state.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "client/replica/key_log.h"
#include "table/table.h"
#include "thalweg/job.h"
#include "thalweg/status.h"
#include "thalweg/store.h"

namespace thalweg {

class Replica {
 public:
  // tables[i] is TableId{i}. `logs_keys`: take_touched() and take_changed() tell of sparse tables. Errors:
  // kUsage, kIo (no memory).
  static Result<Replica> make(const std::vector<TableSpec>& tables, const CustomRules& rules = {},
                              bool logs_keys = true);

  std::size_t tables() const { return tables_.size(); }
  const TableSpec& spec(TableId table) const { return tables_[table.value].table->spec(); }
  bool is_dense(TableId table) const { return spec(table).kind == TableSpec::Kind::kDense; }
  // kUsage for a table or keys that there cannot be.
  Status check(TableId table, const Keys& keys) const;
  // The same, and whether the rule can be applied to `grads`: as a server has it.
  Status check_push(TableId table, const Keys& keys, std::span<const float> grads) const;

  // dim floats a key. Precondition of all below: check() passed for the keys.
  Rows read(TableId table, const Keys& keys) const;
  // One update of the table's rule. Precondition: check_push() passed.
  void apply(TableId table, const Keys& keys, std::span<const float> grads);
  // The same of the sum of several contributions, by ascending position.
  void apply(TableId table, std::span<const Contribution> parts);
  // Sets rows, dim floats a key, and leaves the optimizer's state.
  void write(TableId table, const Keys& keys, std::span<const float> rows);

  // Sets all rows of a dense table, whose optimizer state becomes that of rows that begin so. Errors:
  // kNonFinite.
  Status load(TableId table, std::span<const float> rows);
  // The same of those that a scan of a range has found, which have their state or not.
  Status load(TableId table, RangeId range, const RowsView& rows);

  // Stored rows of all dense tables, one table after the other.
  std::size_t dense_floats() const;
  void read_dense(std::span<float> out) const;
  void write_dense(std::span<const float> rows);
  // As servers keep them to show, see shown_table().
  Rows read_shown(TableId table, const Keys& keys) const;
  // Stored rows of a sparse table by placed keys, ascending.
  std::size_t stored_width(TableId table) const { return tables_[table.value].table->stored_width(); }
  void read_stored(TableId table, std::span<const std::uint64_t> keys, std::span<float> out) const;
  void write_stored(TableId table, std::span<const std::uint64_t> keys, std::span<const float> rows);

  // Placed keys of a sparse table that this shard's own updates have touched since the last call;
  std::vector<std::uint64_t> take_touched(TableId table) { return tables_[table.value].touched.take(); }
  // and those that anything has changed.
  std::vector<std::uint64_t> take_changed(TableId table) { return tables_[table.value].changed.take(); }

 private:
  struct Copy {
    std::unique_ptr<Table> table;
    KeyLog touched, changed;
  };
  static RangeSpan all(const TableSpec& spec) { return {0, spec.ranges}; }

  std::vector<Copy> tables_;
  bool logs_keys_ = true;
};

// What servers keep of a table that data shards have replicas of, for these to show: rows as they are given,
// with their optimizer state behind them where that fits a row.
TableSpec shown_table(TableSpec table);
// The first `dim` floats of each of `count` rows.
Rows without_state(const Rows& shown, std::size_t count, std::size_t dim);

}  // namespace thalweg
