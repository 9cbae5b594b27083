#include "table/sparse_table.h"

#include <algorithm>
#include <utility>

#include "table/digest.h"
#include "table/init_value.h"
#include "table/prefetch.h"
#include "table/validate.h"

namespace thalweg {

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
