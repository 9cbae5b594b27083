// The part of SparseTable that changes rows by what is pushed.
#include <algorithm>
#include <utility>

#include "base/planted.h"
#include "table/prefetch.h"
#include "table/sparse_table.h"

namespace thalweg {

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

}  // namespace thalweg
