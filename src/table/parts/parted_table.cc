#include "table/parts/parted_table.h"

#include <algorithm>
#include <atomic>

#include "table/validate.h"

namespace thalweg {
namespace {

// With fewer keys other threads would come when the work is done.
constexpr std::size_t kKeysWorthSharing = 4096;
// More tables than threads: one that comes late leaves its part to others.
constexpr std::size_t kTablesAThread = 2;

// Where ranges are cut so that each table has as many of those that are owned.
std::vector<std::uint16_t> cut_evenly(std::uint16_t ranges, const RangeSet& owned, std::size_t tables) {
  const RangeSet& dealt = owned.empty() ? RangeSet(0, ranges) : owned;
  const std::size_t all = dealt.size();
  tables = std::clamp<std::size_t>(tables, 1, all);
  std::vector<std::uint16_t> begins{0};
  std::size_t seen = 0;
  for (const RangeSpan run : dealt.runs()) {
    for (std::uint16_t range = run.begin; range < run.end; ++range, ++seen) {
      if (seen == begins.size() * all / tables && begins.size() < tables) begins.push_back(range);
    }
  }
  begins.push_back(ranges);
  return begins;
}

std::size_t keys_of(std::span<const Contribution> parts) {
  std::size_t keys = 0;
  for (const Contribution& part : parts) keys += part.keys.size();
  return keys;
}

}  // namespace

PartedTable::PartedTable(const TableSpec& spec, const RangeSet& owned,
                         const std::shared_ptr<const CustomRule>& custom, SideBySide& threads)
    : owned_(owned),
      begins_(cut_evenly(spec.ranges, owned, threads.width() * kTablesAThread)),
      threads_(threads) {
  for (std::size_t t = 0; t + 1 < begins_.size(); ++t) {
    firsts_.push_back(range_first_key(begins_[t], spec.ranges));
    tables_.push_back(std::make_unique<SparseTable>(spec, owned.in(ranges_of(t)), custom));
  }
}

std::size_t PartedTable::table_of(RangeId range) const {
  const auto behind = std::upper_bound(begins_.begin() + 1, begins_.end() - 1, range.value);
  return static_cast<std::size_t>(behind - begins_.begin()) - 1;
}

PartedTable::Slice PartedTable::slice_of(std::size_t table, std::span<const std::uint64_t> keys) const {
  const auto begin_of = [&](std::size_t t) {
    if (t == 0) return std::size_t{0};
    if (t == firsts_.size()) return keys.size();
    return static_cast<std::size_t>(std::lower_bound(keys.begin(), keys.end(), firsts_[t]) - keys.begin());
  };
  const std::size_t begin = begin_of(table);
  return {begin, std::max(begin, begin_of(table + 1))};
}

template <class Use>
void PartedTable::each_table(std::size_t keys, const Use& use) const {
  if (keys >= kKeysWorthSharing) return threads_.run(tables_.size(), use);
  for (std::size_t t = 0; t < tables_.size(); ++t) use(t);
}

template <class Use>
void PartedTable::each_slice(std::span<const std::uint64_t> keys, const Use& use) const {
  each_table(keys.size(), [&](std::size_t t) {
    const Slice slice = slice_of(t, keys);
    if (!slice.empty()) use(t, slice);
  });
}

Status PartedTable::check_keys(std::span<const std::uint64_t> keys, RangeSpan ranges) const {
  return check_placed_keys(spec(), owned_, keys, ranges);
}

// What one table finds wrong is looked for again in the whole, which names places in it.
Status PartedTable::check(const Contribution& part, RangeSpan ranges) const {
  const std::size_t dim = spec().dim;
  std::atomic<bool> fits = owned_.contains(ranges) && part.grads.size() == part.keys.size() * dim;
  if (fits) {
    each_slice(part.keys, [&](std::size_t t, Slice slice) {
      const RangeSpan of = ranges_of(t);
      const RangeSpan both{std::max(of.begin, ranges.begin), std::min(of.end, ranges.end)};
      if (both.begin >= both.end || !tables_[t]->check(slice.of(part, dim), both).ok()) fits = false;
    });
  }
  return fits ? ok_status() : check_contribution(spec(), owned_, part, ranges);
}

std::vector<Contribution> PartedTable::parts_of(std::size_t table,
                                                std::span<const Contribution> parts) const {
  std::vector<Contribution> own;
  own.reserve(parts.size());
  for (const Contribution& part : parts) {
    const Slice slice = slice_of(table, part.keys);
    if (!slice.empty()) own.push_back(slice.of(part, spec().dim));
  }
  return own;
}

void PartedTable::apply(std::span<const Contribution> parts) {
  each_table(keys_of(parts), [&](std::size_t t) { tables_[t]->apply(parts_of(t, parts)); });
}

void PartedTable::apply(std::span<const Contribution> parts, const SumSink& before) {
  std::vector<Payload> sums(tables_.size());
  each_table(keys_of(parts), [&](std::size_t t) { sums[t] = tables_[t]->sum(parts_of(t, parts)); });
  std::size_t keys = 0;
  for (const Payload& sum : sums) {
    if (!sum.empty()) before(sum);
    keys += contribution_of(sum).keys.size();
  }
  each_table(keys, [&](std::size_t t) { tables_[t]->apply_sum(); });
}

void PartedTable::read(std::span<const std::uint64_t> keys, std::span<float> out) const {
  each_slice(
      keys, [&](std::size_t t, Slice slice) { tables_[t]->read(slice.of(keys), slice.of(out, spec().dim)); });
}

void PartedTable::show(Step step, std::uint32_t position, const SharedKeys& keys, std::span<float> out) {
  each_slice(keys.keys, [&](std::size_t t, Slice slice) {
    tables_[t]->show(step, position, {slice.of(keys.keys), keys.owner}, slice.of(out, spec().dim));
  });
}

void PartedTable::read_stored(std::span<const std::uint64_t> keys, std::span<float> out,
                              std::vector<bool>* absent) const {
  for (std::size_t t = 0; t < tables_.size(); ++t) {
    const Slice slice = slice_of(t, keys);
    if (slice.empty()) continue;
    std::vector<bool> own_absent(absent != nullptr ? slice.of(keys).size() : 0);
    tables_[t]->read_stored(slice.of(keys), slice.of(out, stored_width()),
                            absent != nullptr ? &own_absent : nullptr);
    if (absent != nullptr)
      std::copy(own_absent.begin(), own_absent.end(),
                absent->begin() + static_cast<std::ptrdiff_t>(slice.begin));
  }
}

void PartedTable::write(std::span<const std::uint64_t> keys, std::size_t width, std::span<const float> rows) {
  each_slice(keys, [&](std::size_t t, Slice slice) {
    tables_[t]->write(slice.of(keys), width, slice.of(rows, width));
  });
}

std::size_t PartedTable::count_absent(std::span<const std::uint64_t> keys) const {
  std::atomic<std::size_t> absent = 0;
  each_slice(keys, [&](std::size_t t, Slice slice) { absent += tables_[t]->count_absent(slice.of(keys)); });
  return absent;
}

void PartedTable::copy_rows(RangeId range, std::uint64_t from, std::size_t count, const RowCells* in,
                            std::vector<std::uint64_t>& keys, std::vector<float>& rows) const {
  tables_[table_of(range)]->copy_rows(range, from, count, in, keys, rows);
}

void PartedTable::scan(RangeId range, const std::function<void(const RowsView&)>& sink) const {
  tables_[table_of(range)]->scan(range, sink);
}

std::size_t PartedTable::rows_of(RangeId range) const { return tables_[table_of(range)]->rows_of(range); }

void PartedTable::expect(RangeId range, std::size_t rows) { tables_[table_of(range)]->expect(range, rows); }

Status PartedTable::load(RangeId range, const RowsView& rows) {
  return tables_[table_of(range)]->load(range, rows);
}

Status PartedTable::add(const RangeSet& ranges) {
  for (std::size_t t = 0; t < tables_.size(); ++t) {
    if (Status added = tables_[t]->add(ranges.in(ranges_of(t))); !added.ok()) return added;
  }
  owned_ = owned_ + ranges;
  return ok_status();
}

void PartedTable::remove(const RangeSet& ranges) {
  for (std::size_t t = 0; t < tables_.size(); ++t) tables_[t]->remove(ranges.in(ranges_of(t)));
  owned_ = owned_ - ranges;
}

std::uint64_t PartedTable::digest() const {
  std::uint64_t sum = 0;
  for (const auto& table : tables_) sum += table->digest();
  return sum;
}

TableStats PartedTable::stats() const {
  TableStats all{0, sizeof(*this)};
  for (const auto& table : tables_) {
    const TableStats one = table->stats();
    all.rows += one.rows;
    all.bytes += one.bytes;
  }
  return all;
}

}  // namespace thalweg
