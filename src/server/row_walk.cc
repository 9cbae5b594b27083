#include "server/row_walk.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include "base/planted.h"
#include "base/range.h"

namespace thalweg {

RowWalk::RowWalk(const Table& table, std::shared_ptr<const TouchedRows> touched)
    : table_(table),
      touched_(std::move(touched)),
      dense_(table.spec().kind == TableSpec::Kind::kDense),
      width_(table.stored_width()),
      shift_(64 - kBucketBits) {
  if (dense_) {
    const auto bits = static_cast<unsigned>(std::bit_width(table.spec().rows));
    shift_ = bits > kBucketBits ? bits - kBucketBits : 0;
  }
  for (const RangeSpan run : table.owned().runs()) {
    for (std::uint16_t range = run.begin; range < run.end; ++range) ranges_.push_back(range);
  }
  std::ranges::reverse(ranges_);
}

void RowWalk::before(const Contribution& change) {
  if (!dense_) return before_rows(change.keys);
  std::vector<std::uint64_t> rows(change.grads.size() / table_.spec().dim);
  std::iota(rows.begin(), rows.end(), change.keys[0]);
  before_rows(rows);
}

void RowWalk::before_rows(std::span<const std::uint64_t> keys) {
  constexpr std::size_t kAtOnce = 256, kFetchAhead = 16;
  if (ranges_.empty() || THALWEG_BUG(kCutRowsChanged)) return;
  keys = keys.subspan(static_cast<std::size_t>(std::ranges::lower_bound(keys, from_) - keys.begin()));
  if (kept_.empty()) kept_.resize(std::size_t{1} << kBucketBits);
  std::vector<std::uint64_t> news;
  std::vector<std::uint32_t> numbers;
  const auto keep_all = [&] {
    if (!news.empty()) keep(news, numbers);
    news.clear(), numbers.clear();
  };
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (i + kFetchAhead < keys.size()) bucket(keys[i + kFetchAhead]).fetch(keys[i + kFetchAhead]);
    const std::uint64_t key = keys[i];
    if (touched_ != nullptr && !touched_->has(key)) continue;
    const auto [number, fresh] = bucket(key).add(key);
    if (!fresh) continue;
    // A dense table reads rows that follow each other.
    if (news.size() == kAtOnce || (dense_ && !news.empty() && news.back() + 1 != key)) keep_all();
    news.push_back(key);
    numbers.push_back(number);
  }
  keep_all();
}

void RowWalk::keep(std::span<const std::uint64_t> keys, std::span<const std::uint32_t> numbers) {
  std::vector<float> rows(keys.size() * width_);
  std::vector<bool> absent(keys.size());
  table_.read_stored(keys, rows, &absent);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (!absent[i]) bucket(keys[i]).put(numbers[i], &rows[i * width_], width_);
  }
}

std::optional<LoadEntry> RowWalk::next(std::size_t bytes) {
  const std::size_t count =
      std::max<std::size_t>(1, bytes / (sizeof(std::uint64_t) + width_ * sizeof(float)));
  while (!ranges_.empty()) {
    const RangeId range{ranges_.back()};
    std::vector<std::uint64_t> keys;
    std::vector<float> rows;
    table_.copy_rows(range, from_, count, touched_ == nullptr ? nullptr : touched_->cells(range), keys, rows);
    const bool last = keys.size() < count;
    const std::uint64_t begin = std::exchange(from_, last ? end_of(range) : keys.back() + 1);
    turn_back(keys, rows);
    forget(begin, from_);
    if (last) ranges_.pop_back();
    if (!keys.empty())
      return LoadEntry{range, width_, {Bytes::of(std::move(keys)), Bytes::of(std::move(rows))}};
  }
  return {};
}

void RowWalk::turn_back(std::vector<std::uint64_t>& keys, std::vector<float>& rows) {
  if (kept_.empty()) return;
  std::size_t left = 0;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const KeptRows& kept = bucket(keys[i]);
    const std::uint32_t number = kept.find(keys[i]);
    const float* row = &rows[i * width_];
    if (number != KeptRows::kNone) row = kept.row(number, width_);
    if (row == nullptr) continue;  // It was made since.
    if (row != &rows[left * width_]) std::copy_n(row, width_, &rows[left * width_]);
    keys[left++] = keys[i];
  }
  keys.resize(left);
  rows.resize(left * width_);
}

// Whole buckets, behind which nothing is to come.
void RowWalk::forget(std::uint64_t begin, std::uint64_t end) {
  for (std::uint64_t of = begin >> shift_; of < end >> shift_ && !kept_.empty(); ++of) {
    if (kept_[of].size() > 0) kept_[of] = {};
  }
}

std::uint64_t RowWalk::end_of(RangeId range) const {
  const TableSpec& spec = table_.spec();
  const std::uint32_t next = range.value + 1u;
  return dense_ ? range_first_row(next, spec.ranges, spec.rows) : range_first_key(next, spec.ranges);
}

std::size_t RowWalk::kept() const {
  std::size_t count = 0;
  for (const KeptRows& bucket : kept_) count += bucket.size();
  return count;
}

}  // namespace thalweg
