#include "server/changes/touched_rows.h"

#include <algorithm>
#include <utility>

#include "base/planted.h"
#include "base/range.h"

namespace thalweg {

TouchedRows::TouchedRows(const Table& table)
    : dense_(table.spec().kind == TableSpec::Kind::kDense),
      ranges_(table.spec().ranges),
      rows_(table.spec().rows),
      dim_(table.spec().dim),
      cells_(table.spec().ranges) {
  if (table.owned().empty()) return;
  const std::uint64_t rows = table.stats().rows / table.owned().size() + 1;
  for (std::uint16_t range = 0; range < ranges_; ++range) {
    if (table.owned().contains(RangeId{range})) cells_[range].emplace(table.spec(), RangeId{range}, rows);
  }
}

void TouchedRows::add(const Contribution& change) {
  if (!dense_) return add_rows(change.keys);
  if (change.keys.empty()) return;
  add_run(change.keys[0], change.keys[0] + change.grads.size() / dim_);
}

void TouchedRows::add_rows(std::span<const std::uint64_t> keys) {
  if (keys.empty()) return;
  if (dense_) return add_run(keys.front(), keys.back() + 1);
  const std::size_t count = keys.size() - (THALWEG_BUG(kTouchMissed) ? 1 : 0);
  for (const std::uint64_t key : keys.first(count)) {
    if (auto& cells = cells_[range_of(key, ranges_).value]) cells->add(key);
  }
}

RangeId TouchedRows::range_of_row(std::uint64_t row) const {
  __extension__ using Wide = unsigned __int128;
  auto range = static_cast<std::uint16_t>(static_cast<Wide>(row) * ranges_ / rows_);
  while (range_first_row(range + 1u, ranges_, rows_) <= row) ++range;
  return RangeId{range};
}

void TouchedRows::add_run(std::uint64_t row, std::uint64_t end) {
  while (row < end) {
    const RangeId range = range_of_row(row);
    const std::uint64_t until = std::min(end, range_first_row(range.value + 1u, ranges_, rows_));
    if (auto& cells = cells_[range.value]) cells->add_rows(row, until);
    row = until;
  }
}

void TouchedRows::add_all(const RangeSet& ranges) {
  for (const RangeSpan run : ranges.runs()) {
    for (std::uint16_t range = run.begin; range < run.end; ++range) cells_[range].reset();
  }
}

void TouchedRows::add(const TouchedRows& later) {
  for (std::size_t range = 0; range < cells_.size(); ++range) {
    const auto& of = later.cells_[range];
    if (!of) {
      cells_[range].reset();
    } else if (cells_[range]) {
      cells_[range]->add(*of);
    }
  }
}

bool TouchedRows::has(std::uint64_t key) const {
  const RowCells* of = cells(dense_ ? range_of_row(key) : range_of(key, ranges_));
  return of == nullptr || of->has(key);
}

RangeSet TouchedRows::ranges() const {
  RangeSet known;
  for (std::uint16_t range = 0; range < ranges_; ++range) {
    if (cells_[range]) known.add(only(RangeId{range}));
  }
  return known;
}

std::shared_ptr<const TouchedRows> TouchLog::cut(const CutMark& mark, const Table& table) {
  if (!mark.since) {
    parts_.clear();
    return {};
  }
  std::erase_if(parts_, [&](const Part& part) { return part.since < *mark.since; });
  if (*mark.since == 0 || parts_.empty() || parts_.front().since != *mark.since) parts_.clear();
  if (parts_.size() > 1 && !THALWEG_BUG(kFailedCutCounted)) {
    // Cuts between these two have come to nothing; whoever stores an earlier one may still read its rows.
    auto all = std::make_shared<TouchedRows>(*parts_.front().rows);
    for (std::size_t part = 1; part < parts_.size(); ++part) all->add(*parts_[part].rows);
    parts_.front().rows = std::move(all);
  }
  if (!parts_.empty()) parts_.resize(1);
  std::shared_ptr<const TouchedRows> since = parts_.empty() ? nullptr : parts_.front().rows;
  parts_.push_back({mark.number, std::make_shared<TouchedRows>(table)});
  return since;
}

}  // namespace thalweg
