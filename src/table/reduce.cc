#include "table/reduce.h"

#include <algorithm>
#include <limits>

#include "base/check.h"
#include "table/update_kernels.h"

namespace thalweg {
namespace {

// Merges ascending runs a and b into `out` without repeats, noting where each element went. No branch depends
// on a comparison, for placed keys are as good as random. Returns the merged size.
std::size_t merge_runs(std::span<const std::uint64_t> a, std::span<const std::uint64_t> b, std::uint64_t* out,
                       std::uint32_t* a_to, std::uint32_t* b_to) {
  std::size_t i = 0, j = 0, size = 0;
  while (i < a.size() && j < b.size()) {
    const std::uint64_t x = a[i], y = b[j];
    out[size] = x < y ? x : y;
    a_to[i] = b_to[j] = static_cast<std::uint32_t>(size);
    i += x <= y;
    j += y <= x;
    ++size;
  }
  for (; i < a.size(); ++i, ++size) out[size] = a[i], a_to[i] = static_cast<std::uint32_t>(size);
  for (; j < b.size(); ++j, ++size) out[size] = b[j], b_to[j] = static_cast<std::uint32_t>(size);
  return size;
}

template <class T>
std::size_t bytes_of(const std::vector<T>& v) {
  return v.capacity() * sizeof(T);
}

}  // namespace

void SparseReducer::merge_keys(std::span<const Contribution> parts) {
  std::size_t total = 0;
  part_begin_.assign(1, 0);
  for (const Contribution& part : parts) part_begin_.push_back(total += part.keys.size());
  THALWEG_CHECK(total <= std::numeric_limits<std::uint32_t>::max(), "too many keys in one step");
  keys_.resize(total), merged_.resize(total), moved_to_.resize(total), index_.resize(total);
  for (std::size_t p = 0; p < parts.size(); ++p) {
    std::copy(parts[p].keys.begin(), parts[p].keys.end(), keys_.data() + part_begin_[p]);
    for (std::size_t i = part_begin_[p]; i < part_begin_[p + 1]; ++i) {
      index_[i] = static_cast<std::uint32_t>(i - part_begin_[p]);
    }
  }
  // Runs cover 1, 2, 4, ... parts; run r of a round merges runs 2r and 2r + 1 of the round before.
  run_begin_ = part_begin_;
  for (std::size_t covered = 1; covered < parts.size(); covered *= 2) {
    const std::size_t runs = run_begin_.size() - 1;
    merged_begin_.assign(1, 0);
    for (std::size_t r = 0; r < runs; r += 2) {
      const std::size_t begin = run_begin_[r], middle = run_begin_[r + 1];
      const std::size_t end = run_begin_[std::min(r + 2, runs)];
      const std::size_t size = merge_runs(
          {keys_.data() + begin, middle - begin}, {keys_.data() + middle, end - middle},
          merged_.data() + merged_begin_.back(), moved_to_.data() + begin, moved_to_.data() + middle);
      for (std::size_t p = r * covered; p < std::min((r + 2) * covered, parts.size()); ++p) {
        const std::size_t run = p < (r + 1) * covered ? begin : middle;
        for (std::size_t i = part_begin_[p]; i < part_begin_[p + 1]; ++i)
          index_[i] = moved_to_[run + index_[i]];
      }
      merged_begin_.push_back(merged_begin_.back() + size);
    }
    keys_.swap(merged_);
    run_begin_.swap(merged_begin_);
  }
  keys_.resize(run_begin_.back());
}

Contribution SparseReducer::reduce(std::span<const Contribution> parts, std::size_t dim, bool last_wins) {
  merge_keys(parts);
  sums_.resize(keys_.size() * dim);
  touched_.assign(keys_.size(), 0);
  for (std::size_t p = 0; p < parts.size(); ++p) {
    const float* grad = parts[p].grads.data();
    for (std::size_t i = part_begin_[p]; i < part_begin_[p + 1]; ++i, grad += dim) {
      const std::size_t at = index_[i];
      float* sum = sums_.data() + at * dim;
      if (last_wins || !touched_[at]) {
        std::copy_n(grad, dim, sum);
        touched_[at] = 1;
      } else {
        for (std::size_t c = 0; c < dim; ++c) sum[c] += grad[c];
      }
    }
  }
  return {keys_, sums_};
}

std::size_t SparseReducer::bytes() const {
  return bytes_of(keys_) + bytes_of(merged_) + bytes_of(run_begin_) + bytes_of(merged_begin_) +
         bytes_of(part_begin_) + bytes_of(moved_to_) + bytes_of(index_) + bytes_of(touched_) +
         bytes_of(sums_);
}

std::span<const RowInterval> DenseReducer::reduce(std::span<const Contribution> parts, std::size_t dim,
                                                  bool last_wins) {
  dim_ = dim;
  touched_.clear();
  std::uint64_t begin = std::numeric_limits<std::uint64_t>::max(), end = 0;
  for (const Contribution& part : parts) {
    if (part.grads.empty()) continue;
    begin = std::min(begin, part.keys[0]);
    end = std::max(end, part.keys[0] + part.grads.size() / dim);
  }
  if (end == 0) return touched_;
  first_row_ = begin;
  sums_.resize((end - begin) * dim);
  for (const Contribution& part : parts) {
    if (!part.grads.empty()) add(part, last_wins);
  }
  return touched_;
}

void DenseReducer::add(const Contribution& part, bool last_wins) {
  const std::uint64_t begin = part.keys[0], end = begin + part.grads.size() / dim_;
  const auto put = [&](std::uint64_t from, std::uint64_t to, bool seen) {
    if (from >= to) return;
    const float* grads = part.grads.data() + (from - begin) * dim_;
    float* into = sums_.data() + (from - first_row_) * dim_;
    if (seen && !last_wins) {
      kernels::add_into(into, grads, (to - from) * dim_);
    } else {
      std::copy_n(grads, (to - from) * dim_, into);
    }
  };
  next_.clear();
  RowInterval grown{begin, end};
  std::uint64_t at = begin;
  for (const RowInterval& old : touched_) {
    if (old.end < begin || old.begin > end) {
      next_.push_back(old);
      continue;
    }
    put(at, old.begin, false);
    put(std::max(at, old.begin), std::min(end, old.end), true);
    at = std::max(at, std::min(end, old.end));
    grown = {std::min(grown.begin, old.begin), std::max(grown.end, old.end)};
  }
  put(at, end, false);
  next_.push_back(grown);
  std::sort(next_.begin(), next_.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
  touched_.swap(next_);
}

std::size_t DenseReducer::bytes() const { return bytes_of(touched_) + bytes_of(next_) + bytes_of(sums_); }

}  // namespace thalweg
