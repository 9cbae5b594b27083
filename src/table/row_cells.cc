#include "table/row_cells.h"

#include <algorithm>
#include <bit>

namespace thalweg {
namespace {

// Cells of a sparse range: 4 to 8 a row, so that a row that is meant brings an eighth to a quarter of another
// along.
constexpr unsigned kCellBitsMin = 6, kCellBitsMax = 40, kCellBitsBesides = 2;
constexpr unsigned kPlaceBits = 64;

}  // namespace

RowCells::RowCells(const TableSpec& spec, RangeId range, std::uint64_t rows)
    : sparse_(spec.kind == TableSpec::Kind::kSparse), ranges_(spec.ranges) {
  if (sparse_) {
    const auto bits = static_cast<unsigned>(std::bit_width(rows)) + kCellBitsBesides;
    shift_ = kPlaceBits - std::clamp(bits, kCellBitsMin, kCellBitsMax);
    cells_ = std::uint64_t{1} << (kPlaceBits - shift_);
  } else {
    first_ = range_first_row(range.value, spec.ranges, spec.rows);
    cells_ = range_first_row(range.value + 1u, spec.ranges, spec.rows) - first_;
  }
}

void RowCells::add(const RowCells& other) {
  const unsigned finer = shift_ > other.shift_ ? shift_ - other.shift_ : 0;
  const unsigned coarser = other.shift_ > shift_ ? other.shift_ - shift_ : 0;
  for (std::uint64_t cell = other.next(0); cell < other.cells_; cell = other.next(cell + 1)) {
    const std::uint64_t begin = cell >> finer << coarser;
    for (std::uint64_t of = begin; of < begin + (std::uint64_t{1} << coarser); ++of) set(of);
  }
}

std::uint64_t RowCells::next(std::uint64_t cell) const {
  if (words_.empty() || cell >= cells_) return cells_;
  std::size_t word = cell / kBits;
  std::uint64_t bits = words_[word] >> cell % kBits << cell % kBits;
  while (bits == 0) {
    if (++word == words_.size()) return cells_;
    bits = words_[word];
  }
  return word * kBits + static_cast<unsigned>(std::countr_zero(bits));
}

// sparse:u8 shift:u8 first:u64 cells:u64 word:u64*, no words where none is meant.
Bytes encode(const RowCells& cells) {
  Writer out;
  out.put(static_cast<std::uint8_t>(cells.sparse_)).put(static_cast<std::uint8_t>(cells.shift_));
  out.put(cells.first_).put(cells.cells_);
  for (const std::uint64_t word : cells.words_) out.put(word);
  return out.take();
}

std::optional<RowCells> decode_cells(const Bytes& bytes, std::uint16_t ranges) {
  Reader in(bytes);
  RowCells out;
  const auto sparse = in.get<std::uint8_t>();
  out.sparse_ = sparse == 1;
  out.ranges_ = ranges;
  out.shift_ = in.get<std::uint8_t>();
  out.first_ = in.get<std::uint64_t>();
  out.cells_ = in.get<std::uint64_t>();
  const bool known = out.sparse_
                         ? out.shift_ >= kPlaceBits - kCellBitsMax && out.shift_ < kPlaceBits &&
                               out.first_ == 0 && out.cells_ == std::uint64_t{1} << (kPlaceBits - out.shift_)
                         : out.shift_ == 0;
  if (!in.ok() || sparse > 1 || !known || ranges == 0) return {};
  if (in.done()) return out;
  const std::size_t left = bytes.size() - 2 * sizeof(std::uint8_t) - 2 * sizeof(std::uint64_t);
  if (out.cells_ / RowCells::kBits > left ||
      left != (out.cells_ + RowCells::kBits - 1) / RowCells::kBits * sizeof(std::uint64_t))
    return {};
  while (!in.done()) out.words_.push_back(in.get<std::uint64_t>());
  if (const std::uint64_t rest = out.cells_ % RowCells::kBits; rest > 0 && out.words_.back() >> rest != 0)
    return {};
  return out;
}

}  // namespace thalweg
