// A sparse table as several, each of neighbouring key ranges, so that several threads work on it at once.
// Rows, sums and bits are those of one table.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "table/parts/side_by_side.h"
#include "table/sparse_table.h"

namespace thalweg {

class PartedTable final : public Table {
 public:
  // Precondition: check_spec() passed. `threads` outlives the table.
  PartedTable(const TableSpec& spec, const RangeSet& owned, const std::shared_ptr<const CustomRule>& custom,
              SideBySide& threads);

  const TableSpec& spec() const override { return tables_[0]->spec(); }
  const RangeSet& owned() const override { return owned_; }
  std::size_t stored_width() const override { return tables_[0]->stored_width(); }
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
  SparseTable* part_with(RangeId range) override { return tables_[table_of(range)].get(); }
  // How many tables it is.
  std::size_t size() const { return tables_.size(); }

 private:
  // Places in a list of keys.
  struct Slice {
    std::size_t begin = 0;
    std::size_t end = 0;
    bool empty() const { return begin == end; }
    // Of what has `width` values for each of those keys.
    template <class T>
    std::span<T> of(std::span<T> all, std::size_t width = 1) const {
      return all.subspan(begin * width, (end - begin) * width);
    }
    Contribution of(const Contribution& part, std::size_t dim) const {
      return {of(part.keys), of(part.grads, dim), part.position};
    }
  };
  RangeSpan ranges_of(std::size_t table) const { return {begins_[table], begins_[table + 1]}; }
  std::size_t table_of(RangeId range) const;
  // Of placed keys that ascend, those of one table. Of others: any that stand together.
  Slice slice_of(std::size_t table, std::span<const std::uint64_t> keys) const;
  std::vector<Contribution> parts_of(std::size_t table, std::span<const Contribution> parts) const;
  // Calls use(table, slice) for each table that some of the keys are of.
  template <class Use>
  void each_slice(std::span<const std::uint64_t> keys, const Use& use) const;
  // Side by side where there are so many keys that it pays.
  template <class Use>
  void each_table(std::size_t keys, const Use& use) const;

  RangeSet owned_;
  std::vector<std::uint16_t> begins_;  // By table, its first range, and one more: where all ranges end.
  std::vector<PlacedKey> firsts_;      // The first keys of these, but for the end of all.
  std::vector<std::unique_ptr<SparseTable>> tables_;
  SideBySide& threads_;
};

}  // namespace thalweg
