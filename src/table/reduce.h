// The sum of several contributions to one step, in the order given: (p0 + p1) + p2, and so on, for each key.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "table/table.h"

namespace thalweg {

// Sparse contributions. Memory is kept from call to call.
class SparseReducer {
 public:
  // The union of the parts' keys, ascending, with the sum, or where `last_wins` the last part's value, of
  // each. Valid until the next call.
  Contribution reduce(std::span<const Contribution> parts, std::size_t dim, bool last_wins);
  std::size_t bytes() const;

 private:
  void merge_keys(std::span<const Contribution> parts);

  std::vector<std::uint64_t> keys_, merged_;
  std::vector<std::size_t> run_begin_, merged_begin_, part_begin_;
  std::vector<std::uint32_t> moved_to_;  // Index in the run before the last merge to the index after it.
  std::vector<std::uint32_t> index_;     // For each key of each part, its index in its run.
  std::vector<std::uint8_t> touched_;
  std::vector<float> sums_;
};

// A run of consecutive rows.
struct RowInterval {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

// Dense contributions. Memory is kept from call to call.
class DenseReducer {
 public:
  // The disjoint intervals of rows that the parts touch, ascending. Valid until the next call.
  std::span<const RowInterval> reduce(std::span<const Contribution> parts, std::size_t dim, bool last_wins);
  // The reduced floats of rows from `row` on, inside one of the intervals.
  const float* sums(std::uint64_t row) const { return sums_.data() + (row - first_row_) * dim_; }
  std::size_t bytes() const;

 private:
  void add(const Contribution& part, bool last_wins);

  std::uint64_t first_row_ = 0;
  std::size_t dim_ = 1;
  std::vector<RowInterval> touched_, next_;
  std::vector<float> sums_;
};

}  // namespace thalweg
