// The part of SparseTable that reads whole ranges out, and puts rows into them.
#include <algorithm>
#include <array>
#include <cmath>

#include "table/sparse_table.h"
#include "table/validate.h"

namespace thalweg {
namespace {

// A scan copies rows twice, so many at a time that the cache has them.
constexpr std::size_t kScanFloats = std::size_t{16} << 10;
// Slots that are looked at together: which are taken, as by chance, is put down without a branch for each.
constexpr std::size_t kSlotsAtOnce = 512;

template <std::size_t kWidth>
void gather_rows(const SparseBlock& block, std::span<const std::size_t> slots, float* to) {
  for (const std::size_t slot : slots) to = std::copy_n(block.row(slot), kWidth, to);
}

void gather_rows(const SparseBlock& block, std::span<const std::size_t> slots, std::size_t width, float* to) {
  switch (width) {
    case 1:
      return gather_rows<1>(block, slots, to);
    case 2:
      return gather_rows<2>(block, slots, to);
    case 3:
      return gather_rows<3>(block, slots, to);
    case 4:
      return gather_rows<4>(block, slots, to);
    default:
      for (const std::size_t slot : slots) to = std::copy_n(block.row(slot), width, to);
  }
}

// Of the rows from `slot` on, the first `count`, to the ends of `keys` and `rows`.
void append_rows(const SparseBlock& block, std::size_t slot, std::size_t count, std::size_t width,
                 std::vector<std::uint64_t>& keys, std::vector<float>& rows) {
  const auto slots = block.slots();
  std::array<std::size_t, kSlotsAtOnce> taken;
  while (slot < slots.size() && count > 0) {
    std::size_t found = 0;
    for (const std::size_t end = std::min(slots.size(), slot + kSlotsAtOnce); slot < end; ++slot) {
      taken[found] = slot;
      found += slots[slot] != kNoPlace ? 1 : 0;
    }
    found = std::min(found, count);
    count -= found;
    const std::size_t keys_before = keys.size(), floats_before = rows.size();
    keys.resize(keys_before + found);
    for (std::size_t i = 0; i < found; ++i) keys[keys_before + i] = slots[taken[i]];
    rows.resize(floats_before + found * width);
    gather_rows(block, std::span(taken).first(found), width, rows.data() + floats_before);
  }
}

}  // namespace

void SparseTable::copy_rows(RangeId range, std::uint64_t from, std::size_t count, const RowCells* in,
                            std::vector<std::uint64_t>& keys, std::vector<float>& rows) const {
  if (!owned_.contains(range)) return;
  const SparseBlock& block = blocks_[range.value];
  const auto slots = block.slots();
  const bool all = from <= range_first_key(range.value, spec_.ranges);
  const std::size_t first = all || slots.empty() ? 0 : block.find(from);
  if (in == nullptr) {
    const std::size_t most = std::min(count, block.size());
    keys.reserve(keys.size() + most);
    rows.reserve(rows.size() + most * width_);
    return append_rows(block, first, count, width_, keys, rows);
  }
  for (std::size_t slot = first; slot < slots.size() && count > 0; ++slot) {
    if (slots[slot] == kNoPlace) continue;
    if (!in->has(slots[slot])) {
      const std::uint64_t cell = in->next(in->cell_of(slots[slot]));
      if (cell == in->cells()) return;
      slot = std::max(slot + 1, block.home(in->begin_of(cell))) - 1;
      continue;
    }
    keys.push_back(slots[slot]);
    rows.insert(rows.end(), block.row(slot), block.row(slot) + width_);
    --count;
  }
}

void SparseTable::scan(RangeId range, const std::function<void(const RowsView&)>& sink) const {
  if (!owned_.contains(range)) return;
  const SparseBlock& block = blocks_[range.value];
  const std::size_t rows_max = std::max<std::size_t>(1, kScanFloats / width_);
  std::vector<std::uint64_t> keys;
  std::vector<float> rows;
  rows.reserve(rows_max * width_);
  const auto flush = [&] {
    if (!keys.empty()) sink({keys, rows, width_});
    keys.clear(), rows.clear();
  };
  for (std::size_t slot = 0; slot < block.slots().size(); ++slot) {
    const PlacedKey key = block.slots()[slot];
    if (key == kNoPlace) continue;
    keys.push_back(key);
    rows.insert(rows.end(), block.row(slot), block.row(slot) + width_);
    if (keys.size() == rows_max) flush();
  }
  flush();
}

std::size_t SparseTable::rows_of(RangeId range) const {
  return owned_.contains(range) ? blocks_[range.value].size() : 0;
}

void SparseTable::expect(RangeId range, std::size_t rows) {
  shown_.forget();
  SparseBlock& block = blocks_[range.value];
  block.reserve(rows - std::min(rows, block.size()));
}

Status SparseTable::load(RangeId range, const RowsView& rows) {
  if (Status keys = check_keys(rows.keys, only(range)); !keys.ok()) return keys;
  if (Status width = check_width(spec_, rows.width, width_); !width.ok()) return width;
  Status values = check_values(spec_, rows.rows, rows.width, rows.keys.size(),
                               [&](std::size_t i) { return unplace(rows.keys[i]); });
  if (!values.ok()) return values;
  std::vector<float> made;
  const std::span<const float> stored = rule_.stored(rows.rows, rows.width, made);
  shown_.forget();
  SparseBlock& block = blocks_[range.value];
  make_room(block, rows.keys);
  for (std::size_t i = 0; i < rows.keys.size(); ++i) {
    std::size_t slot = block.find(rows.keys[i]);
    if (!block.holds(slot, rows.keys[i])) slot = block.insert(rows.keys[i]);
    copy_floats(stored.data() + i * width_, width_, block.row(slot));
  }
  return ok_status();
}

// Keys lie evenly in their range, so that the first of many ascending loads tells how many rows are to come:
// without room for all of them they would lie in one cluster at the block's begin.
void SparseTable::make_room(SparseBlock& block, std::span<const PlacedKey> keys) const {
  constexpr std::size_t kTelling = 1024, kMostTimes = 256;
  if (block.size() > 0) return;
  std::size_t rows = keys.size();
  if (rows >= kTelling) {
    const double covered =
        std::ldexp(static_cast<double>(SparseBlock::fraction(keys.back(), spec_.ranges)), -64);
    const double all = 1.01 * static_cast<double>(rows) / std::max(covered, 1.0 / kMostTimes);
    rows = std::max(rows, static_cast<std::size_t>(all));
  }
  block.reserve(rows);
}

}  // namespace thalweg
