// Some rows of one key range, by cells: equal pieces of it, small enough that few rows share one. What is
// said of a row is said of its cell: so none that is meant is left out, and a few are meant besides.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/range.h"
#include "thalweg/options.h"

namespace thalweg {

class RowCells {
 public:
  // Of a range of this table that has about so many rows. None is meant.
  RowCells(const TableSpec& spec, RangeId range, std::uint64_t rows);

  // Precondition of all keys: they are of this range.
  void add(std::uint64_t key) { set(cell_of(key)); }
  // Dense: rows that follow each other.
  void add_rows(std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t row = begin; row < end; ++row) add(row);
  }
  // Those of another that is of this range.
  void add(const RowCells& other);
  bool has(std::uint64_t key) const {
    const std::uint64_t cell = cell_of(key);
    return cell / kBits < words_.size() && (words_[cell / kBits] >> cell % kBits & 1) != 0;
  }

  std::uint64_t cells() const { return cells_; }
  std::uint64_t cell_of(std::uint64_t key) const {
    return (sparse_ ? key * ranges_ : key - first_) >> shift_;
  }
  // The first that is meant from this one on; cells(): none is.
  std::uint64_t next(std::uint64_t cell) const;
  // Where a cell begins. Sparse: as a fraction of the range, see SparseBlock. Dense: a row number.
  std::uint64_t begin_of(std::uint64_t cell) const { return sparse_ ? cell << shift_ : first_ + cell; }

  friend Bytes encode(const RowCells& cells);
  // Nothing: they are none of a table with so many ranges.
  friend std::optional<RowCells> decode_cells(const Bytes& bytes, std::uint16_t ranges);

 private:
  static constexpr unsigned kBits = 64;
  RowCells() = default;
  void set(std::uint64_t cell) {
    if (words_.empty()) words_.resize((cells_ + kBits - 1) / kBits);
    words_[cell / kBits] |= std::uint64_t{1} << cell % kBits;
  }

  bool sparse_ = true;
  std::uint16_t ranges_ = 1;
  unsigned shift_ = 0;       // Of a place in the range, to its cell's number.
  std::uint64_t first_ = 0;  // Dense: the range's first row.
  std::uint64_t cells_ = 0;
  std::vector<std::uint64_t> words_;  // A bit for each; empty: none is set.
};

Bytes encode(const RowCells& cells);
std::optional<RowCells> decode_cells(const Bytes& bytes, std::uint16_t ranges);

}  // namespace thalweg
