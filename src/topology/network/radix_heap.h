// A queue of moments for simulations: a radix heap, whose operations cost next to nothing because the keys
// that come out never fall. R. Ahuja, K. Mehlhorn, J. Orlin, R. Tarjan, "Faster algorithms for the shortest
// path problem", JACM 1990.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/check.h"

namespace thalweg {

// Values in order of their keys; equal keys in the order they were pushed.
template <class Value>
class RadixHeap {
 public:
  struct Entry {
    std::uint64_t key;
    Value value;
  };

  // Precondition: `key` is at least that of the last entry popped.
  void push(std::uint64_t key, const Value& value) {
    const std::size_t bucket = bucket_of(key);
    buckets_[bucket].push_back({key, value});
    used_ |= std::uint64_t{1} << bucket;
  }
  bool empty() const { return front_ == buckets_[0].size() && (used_ & ~std::uint64_t{1}) == 0; }
  // Precondition: not empty.
  Entry pop() {
    if (front_ == buckets_[0].size()) refill();
    return buckets_[0][front_++];
  }
  // The entry that comes out `ahead` pops from now, if that is known already.
  const Entry* ahead(std::size_t ahead) const {
    return front_ + ahead < buckets_[0].size() ? &buckets_[0][front_ + ahead] : nullptr;
  }

 private:
  // Bucket b > 0 holds keys that differ from `last_` in bit b-1 and in no higher one.
  std::size_t bucket_of(std::uint64_t key) const {
    return static_cast<std::size_t>(std::bit_width(key ^ last_));
  }

  void refill() {
    buckets_[0].clear();
    front_ = 0;
    used_ &= ~std::uint64_t{1};
    THALWEG_CHECK(used_ != 0, "a queue that is popped has an entry");
    const auto bucket = static_cast<std::size_t>(std::countr_zero(used_));
    std::vector<Entry>& entries = buckets_[bucket];
    used_ &= used_ - 1;
    last_ = std::min_element(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
              return a.key < b.key;
            })->key;
    for (const Entry& entry : entries) push(entry.key, entry.value);
    entries.clear();
  }

  static constexpr std::size_t kBuckets = 64;  // Keys stay below 2^63.
  std::array<std::vector<Entry>, kBuckets> buckets_;
  std::uint64_t used_ = 0;  // Bit b: bucket b may hold entries.
  std::uint64_t last_ = 0;
  std::size_t front_ = 0;
};

}  // namespace thalweg
