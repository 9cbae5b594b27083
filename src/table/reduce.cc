#include "table/reduce.h"

#include <algorithm>
#include <functional>
#include <limits>

#include "base/check.h"
#include "table/update_kernels.h"

namespace thalweg {
namespace {

template <class T>
std::size_t bytes_of(const std::vector<T>& v) {
  return v.capacity() * sizeof(T);
}

}  // namespace

void SparseReducer::start(std::span<const Contribution> parts) {
  std::size_t total = 0;
  runs_.clear();
  for (const Contribution& part : parts) {
    THALWEG_CHECK(runs_.empty() || runs_.back().position <= part.position, "positions ascend");
    if (part.keys.empty()) continue;
    runs_.push_back({part.position, 0, part.keys.size(), &part});
    total += part.keys.size();
  }
  keys_.resize(total), merged_keys_.resize(total);
}

std::span<const std::uint64_t> SparseReducer::keys_of(const Run& run) const {
  return run.part != nullptr ? run.part->keys : std::span(keys_).subspan(run.begin, run.size);
}

// Makes one of each two neighbours that are the nearest; merge(a, b, to) appends at `to` and gives the size.
template <class Merge>
void SparseReducer::merge_nearest(const Merge& merge) {
  int nearest = std::numeric_limits<int>::max();
  for (std::size_t r = 1; r < runs_.size(); ++r) {
    nearest = std::min(nearest, block_distance(runs_[r - 1].position, runs_[r].position));
  }
  merged_runs_.clear();
  std::size_t to = 0;
  const Run none;
  for (std::size_t r = 0; r < runs_.size(); ++r) {
    const Run& run = runs_[r];
    const bool two = r + 1 < runs_.size() && block_distance(run.position, runs_[r + 1].position) == nearest;
    if (!two && run.part != nullptr) {
      merged_runs_.push_back(run);
      continue;
    }
    const std::size_t size = merge(run, two ? runs_[r + 1] : none, to);
    merged_runs_.push_back({run.position, to, size, nullptr});
    to += size;
    r += two;
  }
  runs_.swap(merged_runs_);
  keys_.swap(merged_keys_);
  rows_.swap(merged_rows_);
  values_.swap(merged_values_);
}

namespace {

// Merges ascending runs without repeats. place(from_left, i, j, same) says where the next key is from: a[i],
// b[j], or both. No branch depends on a comparison, for placed keys are as good as random.
template <class Place>
std::size_t merge_keys(std::span<const std::uint64_t> a, std::span<const std::uint64_t> b, std::uint64_t* out,
                       const Place& place) {
  std::size_t i = 0, j = 0;
  std::uint64_t* to = out;
  while (i < a.size() && j < b.size()) {
    const std::uint64_t x = a[i], y = b[j];
    *to++ = x < y ? x : y;
    place(x <= y, i, j, x == y);
    i += x <= y;
    j += y <= x;
  }
  for (; i < a.size(); ++i) *to++ = a[i], place(true, i, 0, false);
  for (; j < b.size(); ++j) *to++ = b[j], place(false, 0, j, false);
  return static_cast<std::size_t>(to - out);
}

}  // namespace

std::size_t SparseReducer::merge_values(const Run& a, const Run& b, std::size_t to, bool last_wins) {
  const auto values_of = [&](const Run& run) {
    return run.part != nullptr ? run.part->grads.data() : values_.data() + run.begin;
  };
  const float* left = values_of(a);
  const float* right = values_of(b);
  float* out = merged_values_.data() + to;
  return merge_keys(keys_of(a), keys_of(b), merged_keys_.data() + to,
                    [&](bool from_left, std::size_t i, std::size_t j, bool same) {
                      const float one = from_left ? left[i] : right[j];
                      const float two = right[j];
                      *out++ = !same ? one : last_wins ? two : one + two;
                    });
}

// use(row) gets the function from a key's index in the run to its row.
template <class Use>
void SparseReducer::with_rows(const Run& run, std::size_t dim, const Use& use) const {
  if (run.part == nullptr) return use([rows = rows_.data() + run.begin](std::size_t i) { return rows[i]; });
  use([rows = run.part->grads.data(), dim](std::size_t i) { return rows + i * dim; });
}

std::size_t SparseReducer::merge_rows(const Run& a, const Run& b, std::size_t to, std::size_t dim,
                                      bool last_wins) {
  std::size_t size = 0;
  Both* both = both_.data();
  with_rows(a, dim, [&](const auto& left) {
    with_rows(b, dim, [&](const auto& right) {
      std::size_t at = to;
      size = merge_keys(keys_of(a), keys_of(b), merged_keys_.data() + to,
                        [&](bool from_left, std::size_t i, std::size_t j, bool same) {
                          merged_rows_[at] = from_left ? left(i) : right(j);
                          *both = {at++, right(j)};
                          both += same;
                        });
    });
  });
  for (const Both* key = both_.data(); key < both; ++key) {
    const float*& row = merged_rows_[key->at];
    row = last_wins ? key->right : sum_of(row, key->right, dim);
  }
  return size;
}

// In the row of either that is no part's own, or in a new one.
float* SparseReducer::sum_of(const float* left, const float* right, std::size_t dim) {
  float* const begin = partial_.get();
  const auto is_partial = [&](const float* row) {
    return !std::less<>()(row, static_cast<const float*>(begin)) &&
           std::less<>()(row, static_cast<const float*>(begin) + partial_capacity_);
  };
  const float* old = is_partial(left) ? left : right;
  const bool fresh = !is_partial(old);
  float* sum = begin + (fresh ? static_cast<std::ptrdiff_t>(partial_used_) : old - begin);
  partial_used_ += fresh ? dim : 0;
  for (std::size_t c = 0; c < dim; ++c) sum[c] = left[c] + right[c];
  return sum;
}

// To sums_ at once.
std::size_t SparseReducer::merge_last(const Run& a, const Run& b, std::size_t dim, bool last_wins) {
  std::size_t size = 0;
  with_rows(a, dim, [&](const auto& left) {
    with_rows(b, dim, [&](const auto& right) {
      float* to = sums_.data();
      Both* both = both_.data();
      size = merge_keys(keys_of(a), keys_of(b), merged_keys_.data(),
                        [&](bool from_left, std::size_t i, std::size_t j, bool same) {
                          std::copy_n(from_left ? left(i) : right(j), dim, to);
                          *both = {static_cast<std::size_t>(to - sums_.data()), right(j)};
                          both += same;
                          to += dim;
                        });
      for (const Both* key = both_.data(); key < both; ++key) {
        float* sum = sums_.data() + key->at;
        for (std::size_t c = 0; c < dim; ++c) sum[c] = last_wins ? key->right[c] : sum[c] + key->right[c];
      }
    });
  });
  return size;
}

Contribution SparseReducer::reduce(std::span<const Contribution> parts, std::size_t dim, bool last_wins) {
  start(parts);
  const std::size_t total = keys_.size();
  if (runs_.size() < 2) return runs_.empty() ? Contribution() : *runs_[0].part;
  const std::uint32_t position = runs_[0].position;
  if (dim == 1) {
    values_.resize(total), merged_values_.resize(total);
    while (runs_.size() > 1) {
      merge_nearest(
          [&](const Run& a, const Run& b, std::size_t to) { return merge_values(a, b, to, last_wins); });
    }
    return {keys_of(runs_[0]), {values_.data(), runs_[0].size}, position};
  }
  rows_.resize(total), merged_rows_.resize(total), both_.resize(total / 2 + 1);
  // A row of its own is needed only where two parts' own rows meet.
  if (const std::size_t most = total / 2 * dim; runs_.size() > 2 && partial_capacity_ < most) {
    partial_ = std::make_unique_for_overwrite<float[]>(most);
    partial_capacity_ = most;
  }
  partial_used_ = 0;
  while (runs_.size() > 2) {
    merge_nearest(
        [&](const Run& a, const Run& b, std::size_t to) { return merge_rows(a, b, to, dim, last_wins); });
  }
  sums_.resize((runs_[0].size + runs_[1].size) * dim);
  const std::size_t count = merge_last(runs_[0], runs_[1], dim, last_wins);
  return {{merged_keys_.data(), count}, {sums_.data(), count * dim}, position};
}

std::size_t SparseReducer::bytes() const {
  return bytes_of(keys_) + bytes_of(merged_keys_) + bytes_of(rows_) + bytes_of(merged_rows_) +
         bytes_of(values_) + bytes_of(merged_values_) + bytes_of(runs_) + bytes_of(merged_runs_) +
         bytes_of(both_) + partial_capacity_ * sizeof(float) + bytes_of(sums_);
}

void DenseReducer::start(std::span<const Contribution> parts, std::size_t dim, bool last_wins) {
  dim_ = dim, last_wins_ = last_wins;
  by_begin_.clear(), now_.clear(), bounds_.clear(), parts_.clear(), pieces_.clear(), touched_.clear();
  const auto end_of = [dim](const Contribution& part) { return part.keys[0] + part.grads.size() / dim; };
  for (std::size_t p = 0; p < parts.size(); ++p) {
    THALWEG_CHECK(p == 0 || parts[p - 1].position <= parts[p].position, "positions ascend");
    if (parts[p].grads.empty()) continue;
    by_begin_.push_back(&parts[p]);
    bounds_.insert(bounds_.end(), {parts[p].keys[0], end_of(parts[p])});
  }
  std::ranges::sort(by_begin_, {}, [](const Contribution* part) { return part->keys[0]; });
  std::ranges::sort(bounds_);
  bounds_.erase(std::unique(bounds_.begin(), bounds_.end()), bounds_.end());
  auto next = by_begin_.begin();
  for (std::size_t b = 1; b < bounds_.size(); ++b) {
    const RowInterval rows{bounds_[b - 1], bounds_[b]};
    std::erase_if(now_, [&](const Contribution* part) { return end_of(*part) <= rows.begin; });
    for (; next != by_begin_.end() && (*next)->keys[0] == rows.begin; ++next)
      now_.insert(std::ranges::upper_bound(now_, *next), *next);
    if (now_.empty()) continue;
    pieces_.push_back({rows, parts_.size(), parts_.size() + now_.size()});
    parts_.insert(parts_.end(), now_.begin(), now_.end());
    const bool goes_on = !touched_.empty() && touched_.back().end == rows.begin;
    goes_on ? void(touched_.back().end = rows.end) : touched_.push_back(rows);
  }
}

const float* DenseReducer::alone(const Piece& piece, std::uint64_t row) const {
  if (piece.end - piece.begin > 1 && !last_wins_) return nullptr;
  const Contribution& part = *parts_[piece.end - 1];
  return part.grads.data() + (row - part.keys[0]) * dim_;
}

void DenseReducer::add_up(const Piece& piece, RowInterval rows, float* to) {
  const std::size_t floats = (rows.end - rows.begin) * dim_;
  blocks_.clear();
  const auto distance = [&](std::size_t block, std::uint32_t position) {
    return block_distance(blocks_[block].position, position);
  };
  const auto merge_last = [&](float* sum) {
    const float* const right = blocks_.back().sum;
    blocks_.pop_back();
    kernels::add(blocks_.back().sum, right, sum, floats);
    blocks_.back().sum = sum;
  };
  const auto partial = [&] {
    if (partial_.size() < blocks_.size()) partial_.resize(blocks_.size());
    std::vector<float>& sum = partial_[blocks_.size() - 2];
    if (sum.size() < floats) sum.resize(floats);
    return sum.data();
  };
  for (std::size_t p = piece.begin; p < piece.end; ++p) {
    const Contribution& part = *parts_[p];
    while (blocks_.size() > 1 && distance(blocks_.size() - 2, blocks_.back().position) <=
                                     distance(blocks_.size() - 1, part.position))
      merge_last(partial());
    blocks_.push_back({part.position, part.grads.data() + (rows.begin - part.keys[0]) * dim_});
  }
  while (blocks_.size() > 2) merge_last(partial());
  merge_last(to);
}

void DenseReducer::sum(RowInterval rows, float* to) {
  auto piece = std::ranges::upper_bound(pieces_, rows.begin, {}, [](const Piece& p) { return p.rows.end; });
  for (; piece != pieces_.end() && piece->rows.begin < rows.end; ++piece) {
    const RowInterval of_piece{std::max(rows.begin, piece->rows.begin), std::min(rows.end, piece->rows.end)};
    RowInterval now = some_of(*piece, of_piece.begin);
    for (; now.begin < of_piece.end; now = some_of(*piece, now.end)) {
      now.end = std::min(now.end, of_piece.end);
      const std::size_t floats = (now.end - now.begin) * dim_;
      const float* const own = alone(*piece, now.begin);
      own != nullptr ? void(std::copy_n(own, floats, to)) : add_up(*piece, now, to);
      to += floats;
    }
  }
}

std::size_t DenseReducer::bytes() const {
  std::size_t bytes = bytes_of(by_begin_) + bytes_of(now_) + bytes_of(bounds_) + bytes_of(parts_) +
                      bytes_of(pieces_) + bytes_of(touched_) + bytes_of(blocks_) + bytes_of(partial_) +
                      bytes_of(sums_);
  for (const std::vector<float>& sum : partial_) bytes += bytes_of(sum);
  return bytes;
}

}  // namespace thalweg
