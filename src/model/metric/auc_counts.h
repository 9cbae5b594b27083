// Area under the ROC curve from weights counted by score: parts of the data are counted apart and merged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace thalweg {

// Exact while there are at most `cells_max` different scores; equal scores count half. With more of them,
// scores are told apart by their leading bits only, as many as leave that number of cells, and rows of one
// cell count as ties, so the error is at most half the weight of pairs that share a cell. How many bits those
// are depends on the set of scores and not on its parts or their order. At most 2 * cells_max cells of 24
// bytes are held.
class AucCounts {
 public:
  struct Cell {
    std::uint32_t place = 0;  // Ascends with the score.
    double positive = 0;      // Sums of weights.
    double negative = 0;
    bool operator==(const Cell&) const = default;
  };

  explicit AucCounts(std::size_t cells_max) : cells_max_(cells_max) {}
  void add(float score, bool positive, float weight = 1.0f);
  void merge(const AucCounts& other);
  // NaN without a positive or without a negative row, and when a score was NaN.
  double value();
  double average_precision();  // NaN without a positive row, and when a score was NaN.

  // What is counted, as a part of the data is told to others: cells in ascending order.
  std::span<const Cell> cells();
  unsigned bits_dropped() const { return bits_dropped_; }  // Of each place, at its end.
  bool has_nan() const { return has_nan_; }
  // The same from what was told; false, and nothing is taken, where no counts can be so.
  bool assign(std::vector<Cell> cells, unsigned bits_dropped, bool has_nan);

 private:
  void put(Cell cell);
  void compact();
  void group();
  void drop_bits(unsigned bits);

  std::size_t cells_max_;
  bool has_nan_ = false;
  unsigned bits_dropped_ = 0;
  // Those up to sorted_ have ascending places, each once; what came since follows as it came.
  std::vector<Cell> cells_;
  std::size_t sorted_ = 0;
};

}  // namespace thalweg
