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

std::span<const RowInterval> DenseReducer::reduce(std::span<const Contribution> parts, std::size_t dim,
                                                  bool last_wins) {
  dim_ = dim;
  depth_ = 0;
  first_row_ = std::numeric_limits<std::uint64_t>::max(), end_row_ = 0;
  for (const Contribution& part : parts) {
    if (part.grads.empty()) continue;
    first_row_ = std::min(first_row_, part.keys[0]);
    end_row_ = std::max(end_row_, part.keys[0] + part.grads.size() / dim);
  }
  for (const Contribution& part : parts) {
    if (part.grads.empty()) continue;
    const auto last = [&](std::size_t n) { return blocks_[depth_ - n].position; };
    THALWEG_CHECK(depth_ == 0 || last(1) <= part.position, "positions ascend");
    while (depth_ > 1 && block_distance(last(2), last(1)) <= block_distance(last(1), part.position))
      merge_last(last_wins);
    if (depth_ == blocks_.size()) blocks_.emplace_back();
    Block& block = blocks_[depth_++];
    block.position = part.position;
    block.touched.assign(1, {part.keys[0], part.keys[0] + part.grads.size() / dim});
    block.first_row = part.keys[0];
    block.rows = part.grads.data();
  }
  while (depth_ > 1) merge_last(last_wins);
  return depth_ == 0 ? std::span<const RowInterval>() : blocks_[0].touched;
}

void DenseReducer::own(Block& block) const {
  block.own_sums.resize((end_row_ - first_row_) * dim_);
  if (block.owns()) return;
  for (const RowInterval& rows : block.touched) {
    std::copy_n(block.row(rows.begin, dim_), (rows.end - rows.begin) * dim_,
                block.own_sums.data() + (rows.begin - first_row_) * dim_);
  }
  block.first_row = first_row_;
  block.rows = block.own_sums.data();
}

void DenseReducer::merge_last(bool last_wins) {
  Block& left = blocks_[depth_ - 2];
  const Block& right = blocks_[depth_ - 1];
  --depth_;
  const bool alike = left.touched == right.touched && left.touched.size() == 1;
  if (alike && !left.owns() && !last_wins) return add_alike(left, right);
  own(left);
  for (const RowInterval& rows : right.touched) add(left, rows, right, last_wins);
}

// Without copying the left one first.
void DenseReducer::add_alike(Block& left, const Block& right) const {
  const RowInterval rows = left.touched[0];
  left.own_sums.resize((end_row_ - first_row_) * dim_);
  kernels::add(left.row(rows.begin, dim_), right.row(rows.begin, dim_),
               left.own_sums.data() + (rows.begin - first_row_) * dim_, (rows.end - rows.begin) * dim_);
  left.first_row = first_row_;
  left.rows = left.own_sums.data();
}

void DenseReducer::add(Block& into, RowInterval rows, const Block& from, bool last_wins) {
  const auto put = [&](std::uint64_t begin, std::uint64_t end, bool seen) {
    if (begin >= end) return;
    const float* more = from.row(begin, dim_);
    float* sums = into.own_sums.data() + (begin - first_row_) * dim_;
    if (seen && !last_wins) {
      kernels::add(sums, more, sums, (end - begin) * dim_);
    } else {
      std::copy_n(more, (end - begin) * dim_, sums);
    }
  };
  touched_.clear();
  RowInterval grown = rows;
  std::uint64_t at = rows.begin;
  for (const RowInterval& old : into.touched) {
    if (old.end < rows.begin || old.begin > rows.end) {
      touched_.push_back(old);
      continue;
    }
    put(at, old.begin, false);
    put(std::max(at, old.begin), std::min(rows.end, old.end), true);
    at = std::max(at, std::min(rows.end, old.end));
    grown = {std::min(grown.begin, old.begin), std::max(grown.end, old.end)};
  }
  put(at, rows.end, false);
  touched_.push_back(grown);
  std::sort(touched_.begin(), touched_.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
  into.touched.swap(touched_);
}

std::size_t DenseReducer::bytes() const {
  std::size_t bytes = bytes_of(blocks_) + bytes_of(touched_);
  for (const Block& block : blocks_) bytes += bytes_of(block.touched) + bytes_of(block.own_sums);
  return bytes;
}

}  // namespace thalweg
