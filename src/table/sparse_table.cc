#include "table/sparse_table.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/planted.h"
#include "table/digest.h"
#include "table/init_value.h"
#include "table/validate.h"

namespace thalweg {
namespace {

// By address, for the row may not exist.
inline void prefetch_floats(const float* row, std::size_t floats) {
  constexpr std::size_t kLine = 64;
  const auto begin = reinterpret_cast<std::uintptr_t>(row), last = begin + floats * sizeof(float) - 1;
  for (std::uintptr_t at = begin; at < last; at += kLine)
    __builtin_prefetch(reinterpret_cast<const void*>(at), 1);
  __builtin_prefetch(reinterpret_cast<const void*>(last), 1);
}

}  // namespace

SparseTable::SparseTable(const TableSpec& spec, const RangeSet& owned,
                         std::shared_ptr<const CustomRule> custom)
    : spec_(spec),
      owned_(owned),
      rule_(spec.rule, spec.dim, std::move(custom)),
      width_(spec.dim + rule_.state_floats()) {
  blocks_.reserve(spec.ranges);
  for (std::size_t i = 0; i < spec.ranges; ++i) blocks_.emplace_back(width_, spec.ranges, arena_.get());
}

Status SparseTable::check_keys(std::span<const std::uint64_t> keys, RangeSpan ranges) const {
  return check_placed_keys(spec_, owned_, keys, ranges);
}

// Keys that have been shown were checked before, against ranges that are owned still.
Status SparseTable::check(const Contribution& part, RangeSpan ranges) const {
  const auto inside = [&](PlacedKey key) { return ranges.contains(range_of(key, spec_.ranges)); };
  const bool checked = !part.keys.empty() && shown_.has(part.keys) && owned_.contains(ranges) &&
                       inside(part.keys.front()) && inside(part.keys.back());
  if (!checked) {
    keys_checked_ += part.keys.size();
    return check_contribution(spec_, owned_, part, ranges);
  }
  return check_values(spec_, part.grads, spec_.dim, part.keys.size(),
                      [&](std::size_t i) { return unplace(part.keys[i]); });
}

void SparseTable::start(std::span<const PlacedKey> keys, Probe* probes) const {
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const SparseBlock& block = blocks_[range_of(keys[i], spec_.ranges).value];
    const std::size_t home = block.home(SparseBlock::fraction(keys[i], spec_.ranges));
    __builtin_prefetch(block.slot_key(home));
    __builtin_prefetch(block.slot_key(home) + SparseBlock::kCounted - 1);
    probes[i] = {&block, home};
  }
}

std::size_t SparseTable::find(std::span<const PlacedKey> keys, Probe* probes, std::size_t floats,
                              const float** rows) const {
  static_assert(SparseBlock::kCounted == kernels::kCountedKeys);
  const PlacedKey* homes[kBatch] = {};
  std::uint8_t below[kBatch];
  for (std::size_t i = 0; i < keys.size(); ++i) homes[i] = probes[i].block->slot_key(probes[i].slot);
  kernels::count_below(homes, keys, below);
  std::size_t missing = 0;
  lookups_ += keys.size();
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const SparseBlock& block = *probes[i].block;
    const std::size_t slot = block.find_from(probes[i].slot, keys[i], below[i]);
    const bool absent = !block.holds(slot, keys[i]);
    const float* row = absent ? block.row_to_come(slot) : block.row(slot);
    if (row != nullptr) prefetch_floats(row, floats);
    rows[i] = absent ? nullptr : row;
    missing += absent;
  }
  return missing;
}

void SparseTable::read(std::span<const std::uint64_t> keys, std::span<float> out) const {
  const std::size_t dim = spec_.dim;
  Probe probes[kBatch];
  const float* rows[kBatch];
  const auto batch = [&](std::size_t done) {
    return keys.subspan(done, std::min(kBatch, keys.size() - done));
  };
  start(batch(0), probes);
  float* to = out.data();
  for (std::size_t done = 0; done < keys.size();) {
    const auto now = batch(done);
    find(now, probes, dim, rows);
    done += now.size();
    start(batch(done), probes);
    for (std::size_t i = 0; i < now.size(); ++i, to += dim) {
      if (rows[i] != nullptr) {
        copy_floats(rows[i], dim, to);
      } else {
        draw_initial(now[i], {to, dim});
      }
    }
  }
}

void SparseTable::locate(std::size_t known, std::size_t end) {
  Probe probes[kBatch];
  const float* found[kBatch];
  std::vector<float*>& rows = shown_.rows();
  const bool floats = spec_.dim == 1;
  if (floats) shown_.firsts().resize(end);
  for (std::size_t done = known; done < end; done += kBatch) {
    const auto now = shown_.keys().subspan(done, std::min(kBatch, end - done));
    start(now, probes);
    find(now, probes, spec_.dim, found);
    for (std::size_t i = 0; i < now.size(); ++i) rows[done + i] = const_cast<float*>(found[i]);
    for (std::size_t i = 0; i < now.size() && floats; ++i) {
      float& first = shown_.firsts()[done + i];
      if (found[i] != nullptr) {
        first = *found[i];
      } else {
        draw_initial(now[i], {&first, 1});
      }
    }
  }
}

void SparseTable::show(Step step, std::uint32_t position, const SharedKeys& keys, std::span<float> out) {
  if (std::exchange(shown_step_, step) != step) shown_.forget();
  if (shown_.empty()) shown_.reset(owned_, spec_.ranges);
  std::size_t known = shown_.rows().size();
  const auto numbers = shown_.ask(position, keys);
  const std::size_t dim = spec_.dim;
  if (dim == 1) {
    locate(known, shown_.rows().size());
    const float* const firsts = shown_.firsts().data();
    for (std::size_t i = 0; i < numbers.size(); ++i) out[i] = firsts[numbers[i]];
    return;
  }
  const std::size_t known_before = known;
  // A few at a time, so that rows are copied while they are in the cache.
  for (std::size_t done = 0; done < numbers.size(); done += kBatch) {
    const auto now = numbers.subspan(done, std::min(kBatch, numbers.size() - done));
    const std::size_t end = std::max<std::size_t>(known, *std::max_element(now.begin(), now.end()) + 1);
    locate(known, end);
    known = end;
    for (std::size_t i = 0; i < now.size(); ++i) {
      float* const to = out.data() + (done + i) * dim;
      if (const float* row = shown_.rows()[now[i]]; row != nullptr) {
        copy_floats(row, dim, to);
      } else if (now[i] < known_before) {
        copy_floats(shown_.initial(now[i], dim).data(), dim, to);
      } else {
        draw_initial(keys.keys[done + i], {to, dim});
        shown_.add_initial(now[i], {to, dim});
      }
    }
  }
}

std::size_t SparseTable::count_absent(std::span<const std::uint64_t> keys) const {
  Probe probes[kBatch];
  const float* rows[kBatch];
  std::size_t absent = 0;
  for (std::size_t done = 0; done < keys.size(); done += kBatch) {
    const auto now = keys.subspan(done, std::min(kBatch, keys.size() - done));
    start(now, probes);
    absent += find(now, probes, 1, rows);
  }
  return absent;
}

void SparseTable::draw_initial(PlacedKey key, std::span<float> row) const {
  fill_initial(spec_.init, unplace(key), row);
  ++initials_drawn_;
}

void SparseTable::fill_new(PlacedKey key, std::span<float> row) const {
  draw_initial(key, row.first(spec_.dim));
  rule_.fill_state(row.first(spec_.dim), row.subspan(spec_.dim));
}

void SparseTable::read_stored(std::span<const std::uint64_t> keys, std::span<float> out,
                              std::vector<bool>* absent) const {
  Probe probes[kBatch];
  const float* rows[kBatch];
  for (std::size_t done = 0; done < keys.size(); done += kBatch) {
    const auto now = keys.subspan(done, std::min(kBatch, keys.size() - done));
    start(now, probes);
    find(now, probes, width_, rows);
    for (std::size_t i = 0; i < now.size(); ++i) {
      const std::span<float> to = out.subspan((done + i) * width_, width_);
      if (rows[i] != nullptr) {
        copy_floats(rows[i], width_, to.data());
      } else {
        fill_new(now[i], to);
        if (absent != nullptr) (*absent)[done + i] = true;
      }
    }
  }
}

void SparseTable::write(std::span<const std::uint64_t> keys, std::size_t width, std::span<const float> rows) {
  shown_.forget();
  Probe probes[kBatch];
  const float* found[kBatch];
  for (std::size_t done = 0; done < keys.size(); done += kBatch) {
    const auto now = keys.subspan(done, std::min(kBatch, keys.size() - done));
    start(now, probes);
    if (find(now, probes, width, found) > 0) {
      insert_missing(now, found);
      start(now, probes);
      find(now, probes, width, found);
    }
    for (std::size_t i = 0; i < now.size(); ++i)
      copy_floats(rows.data() + (done + i) * width, width, const_cast<float*>(found[i]));
  }
}

void SparseTable::insert_missing(std::span<const PlacedKey> keys, const float* const* rows) {
  const auto block_of = [&](std::size_t i) { return range_of(keys[i], spec_.ranges).value; };
  for (std::size_t begin = 0; begin < keys.size();) {
    std::size_t end = begin, missing = 0;
    for (; end < keys.size() && block_of(end) == block_of(begin); ++end) missing += rows[end] == nullptr;
    SparseBlock& block = blocks_[block_of(begin)];
    block.reserve(missing);
    for (; begin < end; ++begin) {
      if (rows[begin] != nullptr) continue;
      fill_new(keys[begin], {block.row(block.insert(keys[begin])), width_});
    }
  }
}

// Rows that are missing are made behind the others: to make one moves others.
void SparseTable::update(const Contribution& part) {
  shown_.forget();
  const std::size_t dim = spec_.dim;
  Probe probes[kBatch];
  const float* found[kBatch];
  float* rows[kBatch];
  std::vector<float>& present = present_grads_;
  NewRows& made = made_;
  made.clear();
  const auto batch = [&](std::size_t done) {
    return part.keys.subspan(done, std::min(kBatch, part.keys.size() - done));
  };
  start(batch(0), probes);
  for (std::size_t done = 0; done < part.keys.size();) {
    const auto now = batch(done);
    const float* grads = part.grads.data() + done * dim;
    const std::size_t missing = find(now, probes, width_, found);
    done += now.size();
    start(batch(done), probes);
    std::size_t count = 0;
    for (std::size_t i = 0; i < now.size(); ++i) {
      rows[count] = const_cast<float*>(found[i]);
      count += found[i] != nullptr;
    }
    if (missing > 0) {
      present.clear();
      for (std::size_t i = 0; i < now.size(); ++i) {
        std::vector<float>& to = found[i] != nullptr ? present : made.grads;
        to.insert(to.end(), grads + i * dim, grads + (i + 1) * dim);
        if (found[i] == nullptr) made.keys.push_back(now[i]);
      }
      grads = present.data();
    }
    rule_.update_rows(rows, grads, count);
  }
  make_rows(made);
}

bool SparseTable::all_shown(std::span<const Contribution> parts) {
  return !rule_.last_wins() && shown_.fits(parts);
}

Contribution SparseTable::reduced(std::span<const Contribution> parts) {
  return parts.size() == 1 ? parts[0] : reducer_.reduce(parts, spec_.dim, rule_.last_wins());
}

const Payload& SparseTable::sum(std::span<const Contribution> parts) {
  sum_ = {};
  sums_shown_ = !parts.empty() && all_shown(parts);
  if (parts.empty()) return sum_;
  if (sums_shown_) return sum_ = sum_shown(parts);
  const Contribution all = reduced(parts);
  return sum_ = {Bytes::of(std::vector<PlacedKey>(all.keys.begin(), all.keys.end())),
                 Bytes::of(std::vector<float>(all.grads.begin(), all.grads.end()))};
}

void SparseTable::apply_sum() {
  const Payload kept = std::exchange(sum_, {});
  const Contribution sum = contribution_of(kept);
  if (!sums_shown_) return update(sum);
  const float* const sums = sum.grads.data();
  const std::span<const std::uint32_t> places = shown_.places();
  const auto each = [&](const auto& use) {
    for (std::size_t n = 0; n < places.size(); ++n) use(n, sums + places[n] * spec_.dim);
  };
  change_shown(shown_floats_, each);
}

Payload SparseTable::sum_shown(std::span<const Contribution> parts) {
  const std::size_t dim = spec_.dim, floats = shown_.keys().size() * dim;
  std::vector<PlacedKey> keys = shown_.order();
  const std::shared_ptr<float[]> sums = std::make_unique_for_overwrite<float[]>(floats);
  const std::span<const std::uint32_t> places = shown_.places();
  if (dim == 1) {
    shown_floats_ = shown_.sum_floats(parts);
    for (std::size_t n = 0; n < places.size(); ++n) sums[places[n]] = shown_floats_[n];
  } else {
    shown_.sum_rows(parts, dim, [&](std::size_t number, const float* sum) {
      copy_floats(sum, dim, sums.get() + places[number] * dim);
    });
  }
  return {Bytes::of(std::move(keys)), Bytes(sums, std::as_bytes(std::span(sums.get(), floats)))};
}

void SparseTable::apply(std::span<const Contribution> parts) {
  if (parts.empty()) return;
  if (!all_shown(parts)) return update(reduced(parts));
  const auto each = [&](const auto& use) { shown_.sum_rows(parts, spec_.dim, use); };
  change_shown(spec_.dim == 1 ? shown_.sum_floats(parts) : std::span<const float>(), each);
}

void SparseTable::apply(std::span<const Contribution> parts, const SumSink& before) {
  if (parts.empty()) return;
  before(sum(parts));
  apply_sum();
}

template <class Each>
void SparseTable::change_shown(std::span<const float> floats, const Each& each) {
  made_.clear();
  spec_.dim == 1 ? update_floats(floats, made_) : update_shown(each, made_);
  shown_.forget();  // To make a row moves others.
  make_rows(made_);
}

void SparseTable::update_floats(std::span<const float> sums, NewRows& made) {
  const std::vector<float*>& rows = shown_.rows();
  made.keys.reserve(static_cast<std::size_t>(std::count(rows.begin(), rows.end(), nullptr)));
  made.grads.reserve(made.keys.capacity());
  float* now[kBatch + 1];
  float grads[kBatch + 1];
  for (std::size_t done = 0; done < rows.size(); done += kBatch) {
    const std::size_t end = std::min(rows.size(), done + kBatch);
    for (std::size_t n = end; n < std::min(rows.size(), end + kBatch); ++n) prefetch_floats(rows[n], width_);
    std::size_t count = 0;
    for (std::size_t n = done; n < end; ++n) {
      now[count] = rows[n];
      grads[count] = sums[n];
      count += rows[n] != nullptr;
    }
    for (std::size_t n = done; n < end && count < end - done; ++n) {
      if (rows[n] != nullptr) continue;
      made.keys.push_back(shown_.keys()[n]);
      made.grads.push_back(sums[n]);
    }
    rule_.update_rows(now, grads, count);
  }
}

template <class Each>
void SparseTable::update_shown(const Each& each, NewRows& made) {
  constexpr std::size_t kAhead = 8;
  const std::size_t dim = spec_.dim;
  const std::vector<float*>& rows = shown_.rows();
  made.keys.reserve(static_cast<std::size_t>(std::count(rows.begin(), rows.end(), nullptr)));
  made.grads.reserve(made.keys.capacity() * dim);
  float* now[kBatch];
  std::vector<float> grads(kBatch * dim);
  std::size_t count = 0;
  each([&](std::size_t number, const float* sum) {
    if (number + kAhead < rows.size()) prefetch_floats(rows[number + kAhead], width_);
    if (rows[number] == nullptr) {
      made.keys.push_back(shown_.keys()[number]);
      made.grads.insert(made.grads.end(), sum, sum + dim);
      return;
    }
    now[count] = rows[number];
    copy_floats(sum, dim, grads.data() + count * dim);
    if (++count < kBatch) return;
    rule_.update_rows(now, grads.data(), count);
    count = 0;
  });
  rule_.update_rows(now, grads.data(), count);
  made.initials = shown_.take_initials();
}

// Starts to fetch what insert() of this key will change.
void SparseTable::fetch_place(PlacedKey key) const {
  constexpr std::size_t kClusterFloats = 16;
  const SparseBlock& block = blocks_[range_of(key, spec_.ranges).value];
  const std::size_t home = block.home(SparseBlock::fraction(key, spec_.ranges));
  __builtin_prefetch(block.slot_key(home), 1);
  __builtin_prefetch(block.slot_key(home) + SparseBlock::kCounted, 1);
  if (const float* const row = block.row_to_come(home)) {
    __builtin_prefetch(row, 1);
    __builtin_prefetch(row + kClusterFloats, 1);
    __builtin_prefetch(row + 2 * kClusterFloats, 1);
  }
}

// Updates rows before they are in the table, so that each key is looked up once: to find its place.
void SparseTable::make_rows(const NewRows& made) {
  constexpr std::size_t kAhead = 16;  // More places on their way would push out the first of them.
  const std::size_t dim = spec_.dim;
  std::vector<float> rows(std::min(kBatch, made.keys.size()) * width_);
  float* at[kBatch] = {};
  for (std::size_t done = 0; done < made.keys.size(); done += kBatch) {
    const std::size_t count = std::min(kBatch, made.keys.size() - done);
    for (std::size_t i = 0; i < count; ++i) {
      at[i] = rows.data() + i * width_;
      if (made.initials.empty()) {
        fill_new(made.keys[done + i], {at[i], width_});
      } else {
        copy_floats(made.initials.data() + (done + i) * dim, dim, at[i]);
        rule_.fill_state({at[i], dim}, {at[i] + dim, width_ - dim});
      }
    }
    const float* const grads = made.grads.data() + done * dim;
    rule_.update_rows(at, grads, count);
    if (THALWEG_BUG(kRowUpdatedTwice)) rule_.update_rows(at, grads, count);
    for (std::size_t i = 0; i < count; ++i) {
      if (done + i + kAhead < made.keys.size()) fetch_place(made.keys[done + i + kAhead]);
      const PlacedKey key = made.keys[done + i];
      SparseBlock& block = blocks_[range_of(key, spec_.ranges).value];
      copy_floats(at[i], width_, block.row(block.insert(key)));
    }
    lookups_ += count;
  }
}

Status SparseTable::add(const RangeSet& ranges) {
  shown_.forget();
  owned_ = owned_ + ranges;
  return ok_status();
}

void SparseTable::remove(const RangeSet& ranges) {
  shown_.forget();
  owned_ = owned_ - ranges;
  for (const RangeSpan run : ranges.runs()) {
    for (std::uint16_t range = run.begin; range < run.end; ++range)
      blocks_[range] = SparseBlock(width_, spec_.ranges, arena_.get());
  }
}

void SparseTable::swap_rows(RangeId range, SparseTable& other) {
  shown_.forget();
  other.shown_.forget();
  std::swap(blocks_[range.value], other.blocks_[range.value]);
  blocks_[range.value].use(arena_.get());
  other.blocks_[range.value].use(other.arena_.get());
  keep_alive(other.arena_);
  other.keep_alive(arena_);
}

void SparseTable::keep_alive(const std::shared_ptr<Arena>& arena) {
  const bool known = arena == arena_ || std::ranges::find(other_arenas_, arena) != other_arenas_.end();
  if (!known) other_arenas_.push_back(arena);
}

std::uint64_t SparseTable::digest() const {
  std::uint64_t sum = 0;
  for (const SparseBlock& block : blocks_) {
    for (std::size_t slot = 0; slot < block.slots().size(); ++slot) {
      const PlacedKey key = block.slots()[slot];
      if (key != kNoPlace) sum += row_digest(unplace(key), {block.row(slot), width_});
    }
  }
  return sum;
}

TableStats SparseTable::stats() const {
  TableStats stats{0, sizeof(*this) + blocks_.capacity() * sizeof(SparseBlock) + reducer_.bytes() +
                          shown_.bytes() + made_.bytes() + sum_.keys.size() + sum_.values.size() +
                          present_grads_.capacity() * sizeof(float)};
  for (const SparseBlock& block : blocks_) {
    stats.rows += block.size();
    stats.bytes += block.bytes();
  }
  return stats;
}

}  // namespace thalweg
