// The sum of several contributions to one step by a binary tree over their positions: a node stands for an
// aligned block of 2^k positions and is its left half plus its right half; an absent half counts as nothing.
// So a contribution that was summed beforehand for a whole block may stand in for it and no bit changes.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/planted.h"
#include "table/table.h"

namespace thalweg {

// 0 for equal positions, k + 1 for those that share a block of 2^(k+1) positions and none of 2^k.
inline int block_distance(std::uint32_t a, std::uint32_t b) {
  if (THALWEG_BUG(kSumsInARow)) return static_cast<int>(std::max(a, b));
  return std::bit_width(a ^ b);
}

// Sparse contributions. Memory is kept from call to call.
class SparseReducer {
 public:
  // The union of the parts' keys, ascending, with the sum, or where `last_wins` the last part's value, of
  // each. Valid until the next call. Precondition: positions ascend; parts of one share no key.
  Contribution reduce(std::span<const Contribution> parts, std::size_t dim, bool last_wins);
  std::size_t bytes() const;

 private:
  // The keys of a block of positions: a part as it came, or from `begin` on in keys_ and rows_ or values_.
  struct Run {
    std::uint32_t position = 0;  // The block's first that is not absent.
    std::size_t begin = 0;
    std::size_t size = 0;
    const Contribution* part = nullptr;
  };
  // A key that both of two blocks have: where it went, and the right block's row.
  struct Both {
    std::size_t at = 0;
    const float* right = nullptr;
  };

  void start(std::span<const Contribution> parts);
  template <class Merge>
  void merge_nearest(const Merge& merge);
  std::span<const std::uint64_t> keys_of(const Run& run) const;
  template <class Use>
  void with_rows(const Run& run, std::size_t dim, const Use& use) const;
  std::size_t merge_values(const Run& a, const Run& b, std::size_t to, bool last_wins);
  std::size_t merge_rows(const Run& a, const Run& b, std::size_t to, std::size_t dim, bool last_wins);
  std::size_t merge_last(const Run& a, const Run& b, std::size_t dim, bool last_wins);
  float* sum_of(const float* left, const float* right, std::size_t dim);

  std::vector<std::uint64_t> keys_, merged_keys_;
  std::vector<const float*> rows_, merged_rows_;  // Each key's row so far: a part's own, or in partial_.
  std::vector<float> values_, merged_values_;     // Rows of one float are moved themselves.
  std::vector<Run> runs_, merged_runs_;
  std::vector<Both> both_;
  std::unique_ptr<float[]> partial_;
  std::size_t partial_capacity_ = 0, partial_used_ = 0;
  std::vector<float> sums_;
};

// A run of consecutive rows.
struct RowInterval {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  bool operator==(const RowInterval&) const = default;
};

// Dense contributions. Memory is kept from call to call.
class DenseReducer {
 public:
  // The disjoint intervals of rows that the parts touch, ascending. Valid until the next call. Precondition:
  // positions ascend; parts of one share no row.
  std::span<const RowInterval> reduce(std::span<const Contribution> parts, std::size_t dim, bool last_wins);
  // The reduced floats of rows from `row` on, inside one of the intervals.
  const float* sums(std::uint64_t row) const { return blocks_[0].row(row, dim_); }
  std::size_t bytes() const;

 private:
  // What a block of positions sums to.
  struct Block {
    std::uint32_t position = 0;  // The block's first that is not absent.
    std::vector<RowInterval> touched;
    std::uint64_t first_row = 0;
    const float* rows = nullptr;  // From first_row on: a part's own, or own_sums.
    std::vector<float> own_sums;
    bool owns() const { return rows == own_sums.data(); }
    const float* row(std::uint64_t r, std::size_t dim) const { return rows + (r - first_row) * dim; }
  };

  void merge_last(bool last_wins);
  void own(Block& block) const;
  void add_alike(Block& left, const Block& right) const;
  void add(Block& into, RowInterval rows, const Block& from, bool last_wins);

  std::uint64_t first_row_ = 0, end_row_ = 0;
  std::size_t dim_ = 1;
  std::vector<Block> blocks_;  // The first depth_ of them: blocks that are not yet halves of one.
  std::size_t depth_ = 0;
  std::vector<RowInterval> touched_;
};

}  // namespace thalweg
