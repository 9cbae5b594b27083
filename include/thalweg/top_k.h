// The k greatest of what all ranks bring, by magnitude: an element is k (index, value) pairs. For sparse
// gradients as the top-k codec encodes them, whose format this is, and for "what is most frequent", see
// examples/frequent_keys.cc.
#pragma once

#include <cstddef>
#include <cstdint>

#include <span>
#include <vector>

#include "thalweg/reduction.h"
#include "thalweg/status.h"

namespace thalweg {

class Group;
class GroupWork;

// Sorted by index within an element, no index twice. Unused places are at the end and all alike.
struct TopKPair {
  static constexpr std::uint32_t kUnused = 0xffffffff;
  std::uint32_t index = kUnused;
  float value = 0.0f;
};

class TopK {
 public:
  // What a pair of one index on each side becomes.
  enum class Same : std::uint8_t {
    // The greater magnitude, of equal ones the positive value. The result does not depend on any order.
    kGreater,
    // Their sum, as gradients add (Shi et al., "gTop-k", ICDCS 2019). The result does not depend on the order
    // of merging where no more than k indices occur in all and sums are exact; else on the route alone.
    kSum,
  };
  TopK(std::uint32_t k, Same same) : k_(k), same_(same) {}

  // Of equal magnitudes the lower indices are kept. Refers to this object.
  Monoid monoid() const;
  std::size_t element_bytes() const { return k_ * sizeof(TopKPair); }

 private:
  static void combine(void* into, const void* from, std::size_t count, void* context);
  void merge(TopKPair* into, const TopKPair* from, TopKPair* merged) const;

  std::uint32_t k_;
  Same same_;
};

// The k elements of greatest magnitude, the first ones of equal magnitudes, as k pairs. Fewer elements leave
// places unused.
std::vector<TopKPair> top_pairs(std::span<const float> values, std::uint32_t k);

// A sparse all-reduce: `pairs` become the k greatest of all ranks', k being pairs.size() at each. Errors:
// kUsage when they are not as TopKPair says, and those of Group.
Status all_reduce_top_k(Group& group, std::span<TopKPair> pairs, TopK::Same same);
// The same, started.
GroupWork all_reduce_top_k_async(Group& group, std::span<TopKPair> pairs, TopK::Same same);

}  // namespace thalweg
