#include "table/dense_table.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <new>
#include <stdexcept>
#include <utility>

#include "base/check.h"
#include "table/digest.h"
#include "table/init_value.h"
#include "table/validate.h"

namespace thalweg {
namespace {

constexpr std::size_t kDenseScanRows = 1024;

}  // namespace

DenseTable::DenseTable(const TableSpec& spec, const RangeSet& owned, std::shared_ptr<const CustomRule> custom)
    : spec_(spec), rule_(spec.rule, spec.dim, std::move(custom)), width_(spec.dim + rule_.state_floats()) {
  const std::size_t dim = spec.dim;
  planes_.push_back({dim, 0, {}});
  if (rule_.is_custom()) {
    planes_.push_back({rule_.state_floats(), dim, {}});
  } else {
    for (std::size_t at = dim; at < width_; at += dim)
      planes_.push_back({std::min(dim, width_ - at), at, {}});
  }
  THALWEG_CHECK(DenseTable::add(owned).ok(), "no memory for a dense table");
}

std::uint64_t DenseTable::first_row_of(std::uint32_t range) const {
  return range_first_row(range, spec_.ranges, spec_.rows);
}

std::uint64_t DenseTable::place_of(std::uint64_t row, std::uint64_t count) const {
  const auto behind = std::upper_bound(runs_.begin(), runs_.end(), row,
                                       [](std::uint64_t r, const Run& run) { return r < run.rows.begin; });
  THALWEG_CHECK(behind != runs_.begin() && row + count <= std::prev(behind)->rows.end,
                "rows that are not owned");
  return std::prev(behind)->at + (row - std::prev(behind)->rows.begin);
}

// Rows that are owned before and after keep their values; those that are new are not filled.
Status DenseTable::rearrange(const RangeSet& owned) {
  std::vector<Run> runs;
  std::uint64_t rows = 0;
  for (const RangeSpan run : owned.runs()) {
    runs.push_back({{first_row_of(run.begin), first_row_of(run.end)}, rows});
    rows += runs.back().rows.end - runs.back().rows.begin;
  }
  std::vector<std::vector<float>> values;
  try {
    for (const Plane& plane : planes_) values.emplace_back(rows * plane.width);
  } catch (const std::bad_alloc&) {
    return {Code::kIo, fmt::format("table '{}': no memory for ranges {} of {} rows of {} floats", spec_.name,
                                   text_of(owned), spec_.rows, spec_.dim)};
  } catch (const std::length_error&) {
    return {Code::kIo, fmt::format("table '{}': {} rows of {} floats are more than a machine can address",
                                   spec_.name, spec_.rows, spec_.dim)};
  }
  for (const Run& run : runs) {
    for (const Run& old : runs_) {
      const std::uint64_t begin = std::max(run.rows.begin, old.rows.begin);
      const std::uint64_t end = std::min(run.rows.end, old.rows.end);
      for (std::size_t p = 0; begin < end && p < planes_.size(); ++p) {
        const std::size_t width = planes_[p].width;
        std::copy_n(planes_[p].values.data() + (old.at + begin - old.rows.begin) * width,
                    (end - begin) * width, values[p].data() + (run.at + begin - run.rows.begin) * width);
      }
    }
  }
  for (std::size_t p = 0; p < planes_.size(); ++p) planes_[p].values = std::move(values[p]);
  owned_ = owned;
  runs_ = std::move(runs);
  rows_ = rows;
  return ok_status();
}

void DenseTable::fill(const RangeSet& ranges) {
  std::vector<float> stored(width_);
  const std::span<float> whole(stored);
  for (const RangeSpan run : ranges.runs()) {
    const std::uint64_t end = first_row_of(run.end);
    for (std::uint64_t row = first_row_of(run.begin); row < end; ++row) {
      fill_initial(spec_.init, row, whole.first(spec_.dim));
      rule_.fill_state(whole.first(spec_.dim), whole.subspan(spec_.dim));
      put_row(row, stored);
    }
  }
}

Status DenseTable::add(const RangeSet& ranges) {
  if (Status status = rearrange(owned_ + ranges); !status.ok()) return status;
  fill(ranges);
  return ok_status();
}

void DenseTable::remove(const RangeSet& ranges) {
  THALWEG_CHECK(rearrange(owned_ - ranges).ok(), "no memory to make a dense table smaller");
}

void DenseTable::put_row(std::uint64_t row, std::span<const float> stored) {
  const std::uint64_t place = place_of(row, 1);
  for (Plane& plane : planes_)
    std::copy_n(stored.data() + plane.offset, plane.width, plane.values.data() + place * plane.width);
}

void DenseTable::get_row(std::uint64_t row, std::span<float> stored) const {
  const std::uint64_t place = place_of(row, 1);
  for (const Plane& plane : planes_)
    std::copy_n(plane.values.data() + place * plane.width, plane.width, stored.data() + plane.offset);
}

Status DenseTable::check_keys(std::span<const std::uint64_t> keys, RangeSpan ranges) const {
  return check_row_numbers(spec_, owned_, keys, ranges);
}

Status DenseTable::check(const Contribution& part, RangeSpan ranges) const {
  return check_contribution(spec_, owned_, part, ranges);
}

void DenseTable::update(std::uint64_t row, const float* grads, std::size_t count) {
  const std::uint64_t place = place_of(row, count);
  const auto at = [&](std::size_t plane) {
    if (plane >= planes_.size()) return static_cast<float*>(nullptr);
    return planes_[plane].values.data() + place * planes_[plane].width;
  };
  rule_.update_planes({at(0), at(1), at(2), at(3)}, grads, count);
}

void DenseTable::apply(std::span<const Contribution> parts) {
  reducer_.start(parts, spec_.dim, rule_.last_wins());
  reducer_.each_sum(
      [&](std::uint64_t row, const float* sums, std::uint64_t rows) { update(row, sums, rows); });
}

void DenseTable::apply(std::span<const Contribution> parts, const SumSink& before) {
  reducer_.start(parts, spec_.dim, rule_.last_wins());
  for (const RowInterval& touched : reducer_.touched()) {
    // Neighbouring rows may be of ranges between which there is one that is not owned, and has no rows.
    for (const Run& run : runs_) {
      const RowInterval rows{std::max(touched.begin, run.rows.begin), std::min(touched.end, run.rows.end)};
      if (rows.begin < rows.end) apply_sum(rows, before);
    }
  }
}

void DenseTable::apply_sum(RowInterval rows, const SumSink& before) {
  const std::size_t floats = (rows.end - rows.begin) * spec_.dim;
  const std::shared_ptr<float[]> sums = std::make_unique_for_overwrite<float[]>(floats);
  reducer_.sum(rows, sums.get());
  before({Bytes::of(std::vector<std::uint64_t>{rows.begin}),
          Bytes(sums, std::as_bytes(std::span(sums.get(), floats)))});
  update(rows.begin, sums.get(), rows.end - rows.begin);
}

void DenseTable::read(std::span<const std::uint64_t> keys, std::span<float> out) const {
  if (keys.empty() || out.empty()) return;
  const std::uint64_t place = place_of(keys[0], out.size() / spec_.dim);
  std::copy_n(planes_[0].values.data() + place * spec_.dim, out.size(), out.data());
}

void DenseTable::read_stored(std::span<const std::uint64_t> keys, std::span<float> out,
                             std::vector<bool>* /*absent*/) const {
  for (std::size_t i = 0; i * width_ < out.size(); ++i) get_row(keys[0] + i, out.subspan(i * width_, width_));
}

void DenseTable::write(std::span<const std::uint64_t> keys, std::size_t width, std::span<const float> rows) {
  if (rows.empty()) return;
  const std::uint64_t count = rows.size() / width, place = place_of(keys[0], count);
  for (Plane& plane : planes_) {
    if (plane.offset >= width) break;
    float* to = plane.values.data() + place * plane.width;
    for (std::size_t i = 0; i < count; ++i, to += plane.width)
      std::copy_n(rows.data() + i * width + plane.offset, plane.width, to);
  }
}

void DenseTable::copy_rows(RangeId range, std::uint64_t from, std::size_t count, const RowCells* in,
                           std::vector<std::uint64_t>& keys, std::vector<float>& rows) const {
  if (!owned_.contains(range)) return;
  const std::uint64_t end = first_row_of(range.value + 1u);
  from = std::clamp(from, first_row_of(range.value), end);
  if (in != nullptr) {
    for (; from < end && count > 0; ++from, --count) {
      from = in->begin_of(in->next(in->cell_of(from)));
      if (from >= end) return;
      keys.push_back(from);
      rows.resize(rows.size() + width_);
      get_row(from, std::span(rows).last(width_));
    }
    return;
  }
  count = static_cast<std::size_t>(std::min<std::uint64_t>(count, end - from));
  std::size_t next = rows.size();
  rows.resize(next + count * width_);
  for (std::uint64_t row = from; row < from + count; ++row, next += width_) {
    keys.push_back(row);
    get_row(row, std::span(rows).subspan(next, width_));
  }
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

std::size_t DenseTable::rows_of(RangeId range) const {
  return static_cast<std::size_t>(first_row_of(range.value + 1u) - first_row_of(range.value));
}

Status DenseTable::load(RangeId range, const RowsView& rows) {
  if (Status keys = check_keys(rows.keys, only(range)); !keys.ok()) return keys;
  if (Status width = check_width(spec_, rows.width, width_); !width.ok()) return width;
  Status values = check_values(spec_, rows.rows, rows.width, rows.keys.size(),
                               [&](std::size_t i) { return rows.keys[i]; });
  if (!values.ok()) return values;
  std::vector<float> made;
  const std::span<const float> stored = rule_.stored(rows.rows, rows.width, made);
  for (std::size_t i = 0; i < rows.keys.size(); ++i)
    put_row(rows.keys[i], stored.subspan(i * width_, width_));
  return ok_status();
}

std::uint64_t DenseTable::digest() const {
  std::uint64_t sum = 0;
  std::vector<float> stored(width_);
  for (const Run& run : runs_) {
    for (std::uint64_t row = run.rows.begin; row < run.rows.end; ++row) {
      get_row(row, stored);
      sum += row_digest(row, stored);
    }
  }
  return sum;
}

std::uint64_t dense_bytes(const TableSpec& spec) {
  std::uint64_t floats = spec.dim;
  if (spec.rule.kind != RuleKind::kCustom) {
    const RuleFacts& facts = facts_of(spec.rule.kind);
    floats += static_cast<std::uint64_t>(facts.states) * spec.dim + (facts.counts_updates ? 1 : 0);
  }
  return spec.rows * floats * sizeof(float);
}

TableStats DenseTable::stats() const {
  TableStats stats{rows_, sizeof(*this) + planes_.capacity() * sizeof(Plane) + reducer_.bytes()};
  for (const Plane& plane : planes_) stats.bytes += plane.values.capacity() * sizeof(float);
  return stats;
}

}  // namespace thalweg
