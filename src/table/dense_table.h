// A table of a fixed number of rows, kept as planes: all rows, then each array of the rule's state.
#pragma once

#include <memory>
#include <vector>

#include "table/reduce.h"
#include "table/table.h"
#include "table/update_rule.h"

namespace thalweg {

// What the rows of such a table take with the state of a built-in rule.
std::uint64_t dense_bytes(const TableSpec& spec);

class DenseTable final : public Table {
 public:
  // Precondition: check_spec() passed.
  DenseTable(const TableSpec& spec, const RangeSet& owned, std::shared_ptr<const CustomRule> custom);

  const TableSpec& spec() const override { return spec_; }
  const RangeSet& owned() const override { return owned_; }
  std::size_t stored_width() const override { return width_; }
  Status check(const Contribution& part, RangeSpan ranges) const override;
  void apply(std::span<const Contribution> parts) override;
  void apply(std::span<const Contribution> parts, const SumSink& before) override;
  void read(std::span<const std::uint64_t> keys, std::span<float> out) const override;
  void show(Step, std::uint32_t, const SharedKeys& keys, std::span<float> out) override {
    read(keys.keys, out);
  }
  using Table::read_stored;
  void read_stored(std::span<const std::uint64_t> keys, std::span<float> out,
                   std::vector<bool>* absent) const override;
  void write(std::span<const std::uint64_t> keys, std::size_t width, std::span<const float> rows) override;
  std::size_t count_absent(std::span<const std::uint64_t>) const override { return 0; }
  Status check_keys(std::span<const std::uint64_t> keys, RangeSpan ranges) const override;
  using Table::copy_rows;
  void copy_rows(RangeId range, std::uint64_t from, std::size_t count, const RowCells* in,
                 std::vector<std::uint64_t>& keys, std::vector<float>& rows) const override;
  void scan(RangeId range, const std::function<void(const RowsView&)>& sink) const override;
  std::size_t rows_of(RangeId range) const override;
  Status load(RangeId range, const RowsView& rows) override;
  Status add(const RangeSet& ranges) override;
  void remove(const RangeSet& ranges) override;
  std::uint64_t digest() const override;
  TableStats stats() const override;

 private:
  // One array of the stored row, for all owned rows in their order: `width` floats each, `offset` floats into
  // the stored row.
  struct Plane {
    std::size_t width;
    std::size_t offset;
    std::vector<float> values;
  };

  // The rows of neighbouring ranges, and where the first of them lies in each plane.
  struct Run {
    RowInterval rows;
    std::uint64_t at = 0;
  };

  std::uint64_t first_row_of(std::uint32_t range) const;
  Status rearrange(const RangeSet& owned);
  // Where `count` owned rows from `row` on lie in each plane.
  std::uint64_t place_of(std::uint64_t row, std::uint64_t count) const;
  void fill(const RangeSet& ranges);
  void put_row(std::uint64_t row, std::span<const float> stored);
  void get_row(std::uint64_t row, std::span<float> stored) const;
  void update(std::uint64_t row, const float* grads, std::size_t count);
  // Of what the reducer has been given, rows that lie side by side.
  void apply_sum(RowInterval rows, const SumSink& before);

  TableSpec spec_;
  RangeSet owned_;
  UpdateRule rule_;
  std::size_t width_;
  std::vector<Run> runs_;   // Of the owned ranges.
  std::uint64_t rows_ = 0;  // All of them.
  std::vector<Plane> planes_;
  DenseReducer reducer_;
};

}  // namespace thalweg
