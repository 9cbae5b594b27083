// Which rows of a table have changed since one moment, and since each of a few cuts, so that a checkpoint
// stores no others. Of a range of which that is not known all may have.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/range_set.h"
#include "table/row_cells.h"
#include "table/table.h"

namespace thalweg {

class TouchedRows {
 public:
  // From now on: none of the ranges that the table owns. Of others it is not known, whoever gets them later.
  explicit TouchedRows(const Table& table);

  void add(const Contribution& change);
  // Placed keys that ascend, or row numbers that follow each other.
  void add_rows(std::span<const std::uint64_t> keys);
  void add_all(const RangeSet& ranges);
  // What has changed since a later moment.
  void add(const TouchedRows& later);

  // Null: all rows of the range may have changed, or been made.
  const RowCells* cells(RangeId range) const {
    const auto& of = cells_[range.value];
    return of ? &*of : nullptr;
  }
  bool has(std::uint64_t key) const;
  // Of which it is known.
  RangeSet ranges() const;

 private:
  RangeId range_of_row(std::uint64_t row) const;
  void add_run(std::uint64_t row, std::uint64_t end);

  bool dense_;
  std::uint16_t ranges_;
  std::uint64_t rows_;  // Dense.
  std::uint32_t dim_;
  std::vector<std::optional<RowCells>> cells_;  // By range.
};

// What a cut is called, and which earlier one its checkpoint is to have the changes since, 0: all rows.
// Nothing: no later checkpoint is to have the changes since this one.
struct CutMark {
  std::uint64_t number = 0;
  std::optional<std::uint64_t> since{};
};

// Costs nothing before the first cut that has such a mark.
class TouchLog {
 public:
  // A cut is made of what the table has now. Returns what has changed since the one that its mark names;
  // null: that is not known. Changes since earlier ones are forgotten.
  std::shared_ptr<const TouchedRows> cut(const CutMark& mark, const Table& table);
  void add(const Contribution& change) {
    if (!parts_.empty()) parts_.back().rows->add(change);
  }
  void add_rows(std::span<const std::uint64_t> keys) {
    if (!parts_.empty()) parts_.back().rows->add_rows(keys);
  }
  void add_all(const RangeSet& ranges) {
    if (!parts_.empty()) parts_.back().rows->add_all(ranges);
  }

 private:
  // From one cut to the next.
  struct Part {
    std::uint64_t since = 0;
    std::shared_ptr<TouchedRows> rows;
  };
  std::vector<Part> parts_;
};

}  // namespace thalweg
