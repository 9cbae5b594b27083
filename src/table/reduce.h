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
  // What follows is of these parts, which outlive it. Precondition: positions ascend; parts of one share no
  // row.
  void start(std::span<const Contribution> parts, std::size_t dim, bool last_wins);
  // The rows that parts have, in intervals of which none begins where another ends; ascending.
  std::span<const RowInterval> touched() const { return touched_; }
  // What the parts come to in rows of one of these intervals.
  void sum(RowInterval rows, float* to);
  // The same for all rows, ascending: calls use(row, sums, rows) for some at a time.
  template <class Use>
  void each_sum(const Use& use);
  std::size_t bytes() const;

 private:
  // Rows that the same parts have, which are numbered from `begin` to `end`.
  struct Piece {
    RowInterval rows;
    std::size_t begin = 0;
    std::size_t end = 0;
  };
  struct Block {
    std::uint32_t position = 0;  // The first that is not absent.
    const float* sum = nullptr;
  };
  // Sums of so many are added up in the cache.
  static constexpr std::size_t kFloatsAtATime = 4096;

  // What one part says from `row` of the piece on, where that is all; else null.
  const float* alone(const Piece& piece, std::uint64_t row) const;
  void add_up(const Piece& piece, RowInterval rows, float* to);
  RowInterval some_of(const Piece& piece, std::uint64_t from) const {
    return {from, std::min(piece.rows.end, from + std::max<std::uint64_t>(1, kFloatsAtATime / dim_))};
  }

  std::size_t dim_ = 1;
  bool last_wins_ = false;
  std::vector<const Contribution*> by_begin_, now_;
  std::vector<std::uint64_t> bounds_;
  std::vector<const Contribution*> parts_;  // Of one piece after the other, in order of positions.
  std::vector<Piece> pieces_;
  std::vector<RowInterval> touched_;
  std::vector<Block> blocks_;                // That are not yet halves of one.
  std::vector<std::vector<float>> partial_;  // By their number.
  std::vector<float> sums_;
};

template <class Use>
void DenseReducer::each_sum(const Use& use) {
  for (const Piece& piece : pieces_) {
    if (const float* own = alone(piece, piece.rows.begin)) {
      use(piece.rows.begin, own, piece.rows.end - piece.rows.begin);
      continue;
    }
    for (RowInterval rows = some_of(piece, piece.rows.begin); rows.begin < rows.end;
         rows = some_of(piece, rows.end)) {
      sums_.resize((rows.end - rows.begin) * dim_);
      add_up(piece, rows, sums_.data());
      use(rows.begin, static_cast<const float*>(sums_.data()), rows.end - rows.begin);
    }
  }
}

}  // namespace thalweg
