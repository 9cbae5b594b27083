// One server's part of one parameter table: the rows of any set of its key ranges. Single-threaded; virtual
// once per batch, never per row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/payload.h"
#include "base/range_set.h"
#include "table/parts/side_by_side.h"
#include "table/row_cells.h"
#include "thalweg/ids.h"
#include "thalweg/options.h"
#include "thalweg/rule.h"
#include "thalweg/status.h"

namespace thalweg {

// What one data shard, or an aligned block of 2^k of them, adds to a step. Sparse: `keys` are placed keys,
// strictly ascending, and `grads` holds dim floats for each. Dense: `keys` is exactly one row number, the
// first of the block that `grads` covers.
struct Contribution {
  std::span<const std::uint64_t> keys;
  std::span<const float> grads;
  std::uint32_t position = 0;  // The shard's number, or that of the block's first shard.
};

inline Contribution contribution_of(const Payload& rows, std::uint32_t position = 0) {
  return {rows.keys.as<std::uint64_t>(), rows.values.as<float>(), position};
}

// Placed keys that whoever holds them keeps alive.
struct SharedKeys {
  std::span<const std::uint64_t> keys;
  std::shared_ptr<const void> owner;
};

struct TableStats {
  std::uint64_t rows = 0;
  std::uint64_t bytes = 0;  // Everything the table has allocated.
};

// Rows of one range in ascending placed order: `width` floats each, the row first, then its optimizer state.
struct RowsView {
  std::span<const std::uint64_t> keys;
  std::span<const float> rows;
  std::size_t width = 0;
};

class SparseTable;

class Table {
 public:
  virtual ~Table() = default;
  virtual const TableSpec& spec() const = 0;
  virtual const RangeSet& owned() const = 0;
  // Floats per stored row: dim plus the rule's state.
  virtual std::size_t stored_width() const = 0;
  // Whether apply() may be given this: width, order, ownership of ranges, finite numbers. Changes nothing.
  virtual Status check(const Contribution& part, RangeSpan ranges) const = 0;
  // Reduces the parts by the tree over their positions (reduce.h) and updates each touched row once.
  // Precondition: check() passed for each, and positions ascend.
  virtual void apply(std::span<const Contribution> parts) = 0;
  // As apply(), and `before` is told what the parts sum to, as contributions that share no row, each before
  // those rows change: applying each comes to the same as applying the parts.
  using SumSink = std::function<void(const Payload& sum)>;
  virtual void apply(std::span<const Contribution> parts, const SumSink& before) = 0;
  // Fills `out` (dim floats a key; dense: out.size()/dim rows from keys[0]). Creates nothing: an unseen key
  // reads as its initial value. Precondition: keys ascending (checked by check_keys()).
  virtual void read(std::span<const std::uint64_t> keys, std::span<float> out) const = 0;
  // As read(), and the table may keep where it found the rows, until it changes or shows rows for another
  // step: apply() of parts that are, position by position, of the very keys that were shown need not look
  // them up again.
  virtual void show(Step step, std::uint32_t position, const SharedKeys& keys, std::span<float> out) = 0;
  // As read(), stored_width() floats a row: with the optimizer's state. Of `absent`, where it is given, those
  // bits are set whose keys have no row; there are as many bits as keys, all clear.
  virtual void read_stored(std::span<const std::uint64_t> keys, std::span<float> out,
                           std::vector<bool>* absent) const = 0;
  void read_stored(std::span<const std::uint64_t> keys, std::span<float> out) const {
    read_stored(keys, out, nullptr);
  }
  // Sets the first `width` floats of these rows, dim or stored_width(), whatever the rule; makes those that
  // are not there. Precondition: as for read(); `rows` holds `width` floats a key.
  virtual void write(std::span<const std::uint64_t> keys, std::size_t width, std::span<const float> rows) = 0;
  // How many of these keys have no row, which apply() would make. Precondition: as for read().
  virtual std::size_t count_absent(std::span<const std::uint64_t> keys) const = 0;
  virtual Status check_keys(std::span<const std::uint64_t> keys, RangeSpan ranges) const = 0;
  // Puts the first `count` stored rows of one range behind those in `keys` and `rows`, or all where there are
  // fewer, of those from key `from` on, ascending; where it is given, only those in cells `in`, which are of
  // this range.
  virtual void copy_rows(RangeId range, std::uint64_t from, std::size_t count, const RowCells* in,
                         std::vector<std::uint64_t>& keys, std::vector<float>& rows) const = 0;
  void copy_rows(RangeId range, std::uint64_t from, std::size_t count, std::vector<std::uint64_t>& keys,
                 std::vector<float>& rows) const {
    copy_rows(range, from, count, nullptr, keys, rows);
  }
  // All stored rows of one range, in blocks; scans and moves go through these two.
  virtual void scan(RangeId range, const std::function<void(const RowsView&)>& sink) const = 0;
  // So many rows of one range are there, or, dense, can be.
  virtual std::size_t rows_of(RangeId range) const = 0;
  // Makes room for so many rows of one range, which are to come ascending.
  virtual void expect(RangeId, std::size_t /*rows*/) {}
  // `rows` have their state or not. kModel, kRefused: not as they should be; nothing has changed.
  virtual Status load(RangeId range, const RowsView& rows) = 0;
  // Holds these ranges as well, as if nothing had been pushed to them yet. Precondition: it holds none of
  // them. kIo: no memory, and nothing has changed.
  virtual Status add(const RangeSet& ranges) = 0;
  // Forgets these ranges with their rows.
  virtual void remove(const RangeSet& ranges) = 0;
  // The sparse table that has this range's rows; null: they are no rows of sparse tables.
  virtual SparseTable* part_with(RangeId) { return nullptr; }
  // Order-independent hash of all keys, rows and state: equal for equal contents however they came about.
  virtual std::uint64_t digest() const = 0;
  virtual TableStats stats() const = 0;
};

// The part of `spec` that covers `owned`. `custom` is needed only when the rule's kind is kCustom. `threads`,
// which outlive the table, share the work of large calls where the table is sparse and its rule not custom.
Result<std::unique_ptr<Table>> make_table(const TableSpec& spec, const RangeSet& owned,
                                          std::shared_ptr<const CustomRule> custom = nullptr,
                                          SideBySide* threads = nullptr);

}  // namespace thalweg
