// A table of a fixed number of rows, kept as planes: all rows, then each array of the rule's state.
#pragma once

#include <memory>
#include <vector>

#include "table/reduce.h"
#include "table/table.h"
#include "table/update_rule.h"

namespace thalweg {

class DenseTable final : public Table {
 public:
  // Precondition: check_spec() passed.
  DenseTable(const TableSpec& spec, RangeSpan owned, std::shared_ptr<const CustomRule> custom);

  const TableSpec& spec() const override { return spec_; }
  std::size_t stored_width() const override { return width_; }
  Status check(const Contribution& part, RangeSpan ranges) const override;
  void apply(std::span<const Contribution> parts) override;
  void read(std::span<const std::uint64_t> keys, std::span<float> out) const override;
  Status check_keys(std::span<const std::uint64_t> keys, RangeSpan ranges) const override;
  void scan(RangeId range, const std::function<void(const RowsView&)>& sink) const override;
  Status load(RangeId range, const RowsView& rows) override;
  std::uint64_t digest() const override;
  TableStats stats() const override;

 private:
  // One array of the stored row, for all owned rows: `width` floats each, `offset` floats into the stored
  // row.
  struct Plane {
    std::size_t width;
    std::size_t offset;
    std::vector<float> values;
  };

  std::uint64_t first_row_of(std::uint32_t range) const;
  void put_row(std::uint64_t row, std::span<const float> stored);
  void get_row(std::uint64_t row, std::span<float> stored) const;
  void update(std::uint64_t row, const float* grads, std::size_t count);

  TableSpec spec_;
  RangeSpan owned_;
  UpdateRule rule_;
  std::size_t width_;
  std::uint64_t begin_;  // Owned rows: [begin_, end_).
  std::uint64_t end_;
  std::vector<Plane> planes_;
  DenseReducer reducer_;
};

}  // namespace thalweg
