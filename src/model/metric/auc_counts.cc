#include "model/metric/auc_counts.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "model/metric/pair_sum.h"
#include "model/metric/precision_sum.h"

namespace thalweg {
namespace {

constexpr std::size_t kUnsortedMin = 4096;  // So that few cells are not sorted again for each row.
constexpr unsigned kBitsMax = 31;           // Signs are always told apart.

bool lower(const AucCounts::Cell& a, const AucCounts::Cell& b) { return a.place < b.place; }

// Both zeros have one place.
std::uint32_t place_of_score(float score) {
  const auto bits = std::bit_cast<std::uint32_t>(score + 0.0f);
  return bits >> 31 != 0 ? ~bits : bits | 0x8000'0000u;
}

constexpr std::uint32_t leading(std::uint32_t place, unsigned bits_dropped) {
  return place >> bits_dropped << bits_dropped;
}

}  // namespace

void AucCounts::add(float score, bool positive, float weight) {
  if (std::isnan(score)) {
    has_nan_ = true;
    return;
  }
  const auto mass = static_cast<double>(weight);
  put({place_of_score(score), positive ? mass : 0, positive ? 0 : mass});
}

void AucCounts::merge(const AucCounts& other) {
  has_nan_ = has_nan_ || other.has_nan_;
  if (other.bits_dropped_ > bits_dropped_) drop_bits(other.bits_dropped_);
  for (const Cell& cell : other.cells_) put(cell);
}

void AucCounts::put(Cell cell) {
  cell.place = leading(cell.place, bits_dropped_);
  cells_.push_back(cell);
  if (cells_.size() - sorted_ >= std::max(std::min(kUnsortedMin, cells_max_), sorted_)) compact();
}

std::span<const AucCounts::Cell> AucCounts::cells() {
  compact();
  return cells_;
}

void AucCounts::compact() {
  if (sorted_ == cells_.size()) return;
  const auto middle = cells_.begin() + static_cast<std::ptrdiff_t>(sorted_);
  std::stable_sort(middle, cells_.end(), lower);
  std::inplace_merge(cells_.begin(), middle, cells_.end(), lower);
  group();
  while (cells_.size() > cells_max_ && bits_dropped_ < kBitsMax) drop_bits(bits_dropped_ + 1);
}

// Of sorted cells, those with equal places become one.
void AucCounts::group() {
  std::size_t out = 0;
  for (std::size_t i = 1; i < cells_.size(); ++i) {
    if (cells_[i].place == cells_[out].place) {
      cells_[out].positive += cells_[i].positive;
      cells_[out].negative += cells_[i].negative;
    } else {
      cells_[++out] = cells_[i];
    }
  }
  cells_.resize(cells_.empty() ? 0 : out + 1);
  sorted_ = cells_.size();
}

void AucCounts::drop_bits(unsigned bits) {
  bits_dropped_ = bits;
  for (Cell& cell : cells_) cell.place = leading(cell.place, bits);
  if (sorted_ == cells_.size()) {
    group();
  } else {
    compact();
  }
}

double AucCounts::value() {
  PairSum pairs;
  for (const Cell& cell : cells()) pairs.add_group(cell.positive, cell.negative);
  return has_nan_ ? std::nan("") : pairs.value();
}

double AucCounts::average_precision() {
  PrecisionSum precision;
  const auto all = cells();
  for (auto cell = all.rbegin(); cell != all.rend(); ++cell)
    precision.add_group(cell->positive, cell->negative);
  return has_nan_ ? std::nan("") : precision.value();
}

bool AucCounts::assign(std::vector<Cell> cells, unsigned bits_dropped, bool has_nan) {
  if (bits_dropped > kBitsMax || cells.size() > cells_max_) return false;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const Cell& cell = cells[i];
    const bool counts = cell.positive >= 0 && cell.negative >= 0 && std::isfinite(cell.positive) &&
                        std::isfinite(cell.negative);
    if (!counts || leading(cell.place, bits_dropped) != cell.place) return false;
    if (i > 0 && !lower(cells[i - 1], cell)) return false;
  }
  cells_ = std::move(cells);
  sorted_ = cells_.size();
  bits_dropped_ = bits_dropped;
  has_nan_ = has_nan;
  return true;
}

}  // namespace thalweg
