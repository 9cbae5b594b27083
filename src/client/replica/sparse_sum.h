// Gradients of a sparse table, added up by key over several steps.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/placed_keys.h"
#include "thalweg/store.h"

namespace thalweg {

class SparseSum {
 public:
  explicit SparseSum(std::size_t dim) : dim_(dim) {}
  void add(std::span<const std::uint64_t> keys, std::span<const float> grads) {
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const auto [at, fresh] = places_.try_emplace(keys[i], keys_.size());
      if (fresh) {
        keys_.push_back(keys[i]);
        sums_.resize(sums_.size() + dim_, 0.0f);
      }
      for (std::size_t d = 0; d < dim_; ++d) sums_[at->second * dim_ + d] += grads[i * dim_ + d];
    }
  }
  bool empty() const { return keys_.empty(); }
  struct Taken {
    Keys keys;
    Rows sums;
  };
  Taken take() {
    std::vector<std::uint64_t> keys = keys_;
    std::sort(keys.begin(), keys.end());
    std::vector<float> sums;
    sums.reserve(sums_.size());
    for (const std::uint64_t key : keys) {
      const float* const from = sums_.data() + places_.at(key) * dim_;
      sums.insert(sums.end(), from, from + dim_);
    }
    places_.clear(), keys_.clear(), sums_.clear();
    return {placed_keys(std::move(keys)), Rows(std::move(sums))};
  }

 private:
  std::size_t dim_;
  std::unordered_map<std::uint64_t, std::size_t> places_;
  std::vector<std::uint64_t> keys_;  // In the order of sums_.
  std::vector<float> sums_;
};

}  // namespace thalweg
