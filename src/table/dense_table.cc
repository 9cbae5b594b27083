#include "table/dense_table.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "table/digest.h"
#include "table/init_value.h"
#include "table/validate.h"

namespace thalweg {
namespace {

constexpr std::size_t kDenseScanRows = 1024;

}  // namespace

DenseTable::DenseTable(const TableSpec& spec, RangeSpan owned, std::shared_ptr<const CustomRule> custom)
    : spec_(spec),
      owned_(owned),
      rule_(spec.rule, spec.dim, std::move(custom)),
      width_(spec.dim + rule_.state_floats()),
      begin_(first_row_of(owned.begin)),
      end_(first_row_of(owned.end)) {
  const std::size_t dim = spec.dim;
  const auto add_plane = [&](std::size_t width, std::size_t offset) {
    planes_.push_back({width, offset, std::vector<float>((end_ - begin_) * width)});
  };
  add_plane(dim, 0);
  if (rule_.is_custom()) {
    add_plane(rule_.state_floats(), dim);
  } else {
    for (std::size_t at = dim; at < width_; at += dim) add_plane(std::min(dim, width_ - at), at);
  }
  std::vector<float> stored(width_);
  const std::span<float> whole(stored);
  for (std::uint64_t row = begin_; row < end_; ++row) {
    fill_initial(spec_.init, row, whole.first(dim));
    rule_.fill_state(whole.first(dim), whole.subspan(dim));
    put_row(row, stored);
  }
}

std::uint64_t DenseTable::first_row_of(std::uint32_t range) const {
  return range_first_row(range, spec_.ranges, spec_.rows);
}

void DenseTable::put_row(std::uint64_t row, std::span<const float> stored) {
  for (Plane& plane : planes_) {
    std::copy_n(stored.data() + plane.offset, plane.width,
                plane.values.data() + (row - begin_) * plane.width);
  }
}

void DenseTable::get_row(std::uint64_t row, std::span<float> stored) const {
  for (const Plane& plane : planes_) {
    std::copy_n(plane.values.data() + (row - begin_) * plane.width, plane.width,
                stored.data() + plane.offset);
  }
}

Status DenseTable::check_keys(std::span<const std::uint64_t> keys, RangeSpan ranges) const {
  return check_row_numbers(spec_, owned_, keys, ranges);
}

Status DenseTable::check(const Contribution& part, RangeSpan ranges) const {
  return check_contribution(spec_, owned_, part, ranges);
}

void DenseTable::update(std::uint64_t row, const float* grads, std::size_t count) {
  const auto at = [&](std::size_t plane) {
    if (plane >= planes_.size()) return static_cast<float*>(nullptr);
    return planes_[plane].values.data() + (row - begin_) * planes_[plane].width;
  };
  rule_.update_planes({at(0), at(1), at(2), at(3)}, grads, count);
}

void DenseTable::apply(std::span<const Contribution> parts) {
  if (parts.size() == 1)
    return update(parts[0].keys[0], parts[0].grads.data(), parts[0].grads.size() / spec_.dim);
  for (const RowInterval& rows : reducer_.reduce(parts, spec_.dim, rule_.last_wins())) {
    update(rows.begin, reducer_.sums(rows.begin), rows.end - rows.begin);
  }
}

void DenseTable::read(std::span<const std::uint64_t> keys, std::span<float> out) const {
  if (keys.empty()) return;
  THALWEG_CHECK(keys[0] >= begin_ && out.size() / spec_.dim <= end_ - keys[0], "rows that are not owned");
  std::copy_n(planes_[0].values.data() + (keys[0] - begin_) * spec_.dim, out.size(), out.data());
}

void DenseTable::scan(RangeId range, const std::function<void(const RowsView&)>& sink) const {
  if (!owned_.contains(range)) return;
  std::vector<std::uint64_t> keys;
  std::vector<float> rows;
  const std::uint64_t end = first_row_of(range.value + 1u);
  for (std::uint64_t row = first_row_of(range.value); row < end;) {
    keys.resize(std::min<std::uint64_t>(kDenseScanRows, end - row));
    rows.resize(keys.size() * width_);
    for (std::size_t i = 0; i < keys.size(); ++i, ++row) {
      keys[i] = row;
      get_row(row, std::span(rows).subspan(i * width_, width_));
    }
    sink({keys, rows, width_});
  }
}

Status DenseTable::load(RangeId range, const RowsView& rows) {
  const RangeSpan only{range.value, static_cast<std::uint16_t>(range.value + 1)};
  if (Status keys = check_keys(rows.keys, only); !keys) return keys;
  if (rows.width != width_) {
    return {Code::kModel, fmt::format("table '{}': stored rows are {} floats wide, expected {}", spec_.name,
                                      rows.width, width_)};
  }
  Status values =
      check_values(spec_, rows.rows, width_, rows.keys.size(), [&](std::size_t i) { return rows.keys[i]; });
  if (!values) return values;
  for (std::size_t i = 0; i < rows.keys.size(); ++i)
    put_row(rows.keys[i], rows.rows.subspan(i * width_, width_));
  return Status::ok();
}

std::uint64_t DenseTable::digest() const {
  std::uint64_t sum = 0;
  std::vector<float> stored(width_);
  for (std::uint64_t row = begin_; row < end_; ++row) {
    get_row(row, stored);
    sum += row_digest(row, stored);
  }
  return sum;
}

TableStats DenseTable::stats() const {
  TableStats stats{end_ - begin_, sizeof(*this) + planes_.capacity() * sizeof(Plane) + reducer_.bytes()};
  for (const Plane& plane : planes_) stats.bytes += plane.values.capacity() * sizeof(float);
  return stats;
}

}  // namespace thalweg
