// A table from u64 keys to rows that grows on demand: one ordered hash block per key range.
#pragma once

#include <memory>
#include <vector>

#include "table/reduce.h"
#include "table/sparse_block.h"
#include "table/step/step_rows.h"
#include "table/table.h"
#include "table/update_rule.h"

namespace thalweg {

class SparseTable final : public Table {
 public:
  // Precondition: check_spec() passed.
  SparseTable(const TableSpec& spec, const RangeSet& owned, std::shared_ptr<const CustomRule> custom);

  const TableSpec& spec() const override { return spec_; }
  const RangeSet& owned() const override { return owned_; }
  std::size_t stored_width() const override { return width_; }
  Status check(const Contribution& part, RangeSpan ranges) const override;
  void apply(std::span<const Contribution> parts) override;
  void apply(std::span<const Contribution> parts, const SumSink& before) override;
  void read(std::span<const std::uint64_t> keys, std::span<float> out) const override;
  void show(Step step, std::uint32_t position, const SharedKeys& keys, std::span<float> out) override;
  using Table::read_stored;
  void read_stored(std::span<const std::uint64_t> keys, std::span<float> out,
                   std::vector<bool>* absent) const override;
  void write(std::span<const std::uint64_t> keys, std::size_t width, std::span<const float> rows) override;
  std::size_t count_absent(std::span<const std::uint64_t> keys) const override;
  Status check_keys(std::span<const std::uint64_t> keys, RangeSpan ranges) const override;
  using Table::copy_rows;
  void copy_rows(RangeId range, std::uint64_t from, std::size_t count, const RowCells* in,
                 std::vector<std::uint64_t>& keys, std::vector<float>& rows) const override;
  void scan(RangeId range, const std::function<void(const RowsView&)>& sink) const override;
  std::size_t rows_of(RangeId range) const override;
  void expect(RangeId range, std::size_t rows) override;
  Status load(RangeId range, const RowsView& rows) override;
  Status add(const RangeSet& ranges) override;
  void remove(const RangeSet& ranges) override;
  std::uint64_t digest() const override;
  TableStats stats() const override;
  // What the parts sum to. Precondition: as for apply().
  const Payload& sum(std::span<const Contribution> parts);
  // Applies what sum(), the last call that was not const, has returned.
  void apply_sum();
  SparseTable* part_with(RangeId) override { return this; }
  // Exchanges all rows of one range, and with them the memory that they lie in. Precondition: both tables own
  // it, and are of one spec.
  void swap_rows(RangeId range, SparseTable& other);
  // Keys that were looked for so far.
  std::uint64_t lookups() const { return lookups_; }
  // Keys whose order was looked at so far to check pushes.
  std::uint64_t keys_checked() const { return keys_checked_; }
  // Initial rows that were computed so far.
  std::uint64_t initials_drawn() const { return initials_drawn_; }

 private:
  // Where a key is being looked for: its block, and its home slot, later its slot.
  struct Probe {
    const SparseBlock* block;
    std::size_t slot;
  };
  // Keys that are looked up together, so that their cache misses overlap.
  static constexpr std::size_t kBatch = 64;

  // What apply() gives rows that have to be made.
  struct NewRows {
    std::vector<PlacedKey> keys;
    std::vector<float> grads;
    std::vector<float> initials;  // What they begin with, if that is known.
    void clear() { keys.clear(), grads.clear(), initials.clear(); }
    std::size_t bytes() const {
      return keys.capacity() * sizeof(PlacedKey) + (grads.capacity() + initials.capacity()) * sizeof(float);
    }
  };

  // Computes the home slots of `keys` and starts to fetch their lines.
  void start(std::span<const PlacedKey> keys, Probe* probes) const;
  // Moves each probe to its key's slot and starts to fetch the row's first `floats` floats; rows of absent
  // keys are null. Returns the number of absent keys.
  std::size_t find(std::span<const PlacedKey> keys, Probe* probes, std::size_t floats,
                   const float** rows) const;
  void draw_initial(PlacedKey key, std::span<float> row) const;
  void fill_new(PlacedKey key, std::span<float> row) const;
  // Gives each key that lacks a row its initial row.
  void insert_missing(std::span<const PlacedKey> keys, const float* const* rows);
  void update(const Contribution& part);
  // Finds the rows of keys that shown_ has numbered from `known` to `end`.
  void locate(std::size_t known, std::size_t end);
  bool all_shown(std::span<const Contribution> parts);
  Contribution reduced(std::span<const Contribution> parts);
  Payload sum_shown(std::span<const Contribution> parts);
  // Rows that are missing go to `made`.
  void update_floats(std::span<const float> sums, NewRows& made);
  // Calls each(use), which calls use(number, sum) for each key that was shown, in order of numbers.
  template <class Each>
  void update_shown(const Each& each, NewRows& made);
  // The one or the other, and makes the rows that are new.
  template <class Each>
  void change_shown(std::span<const float> floats, const Each& each);
  void fetch_place(PlacedKey key) const;
  void make_rows(const NewRows& made);
  void make_room(SparseBlock& block, std::span<const PlacedKey> keys) const;
  void keep_alive(const std::shared_ptr<Arena>& arena);

  TableSpec spec_;
  RangeSet owned_;
  UpdateRule rule_;
  std::size_t width_;
  std::shared_ptr<Arena> arena_ = std::make_shared<Arena>();  // Of the blocks' arrays,
  std::vector<std::shared_ptr<Arena>> other_arenas_;          // but for those that came from other tables.
  std::vector<SparseBlock> blocks_;  // One a range of the table; those of others stay empty.
  SparseReducer reducer_;
  StepRows shown_;
  Step shown_step_;
  Payload sum_;                          // That sum() has returned.
  bool sums_shown_ = false;              // It is of what was shown;
  std::span<const float> shown_floats_;  // of rows of one float, by number.
  NewRows made_;  // By the last change of rows; and of a batch of it the gradients of rows that were there:
  std::vector<float> present_grads_;
  mutable std::uint64_t lookups_ = 0;
  mutable std::uint64_t keys_checked_ = 0;
  mutable std::uint64_t initials_drawn_ = 0;
};

}  // namespace thalweg
