#include "thalweg/top_k.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

namespace thalweg {
namespace {

std::uint32_t magnitude(float value) { return std::bit_cast<std::uint32_t>(value) & 0x7fffffffu; }

// The order in which pairs are kept: by magnitude, NaN first, then by index. A total one where no index
// occurs twice.
bool before(const TopKPair& a, const TopKPair& b) {
  if ((a.index == TopKPair::kUnused) != (b.index == TopKPair::kUnused)) return b.index == TopKPair::kUnused;
  if (magnitude(a.value) != magnitude(b.value)) return magnitude(a.value) > magnitude(b.value);
  return a.index < b.index;
}

float greater(float a, float b) {
  if (magnitude(a) != magnitude(b)) return magnitude(a) > magnitude(b) ? a : b;
  return std::bit_cast<std::uint32_t>(a) < std::bit_cast<std::uint32_t>(b) ? a : b;
}

}  // namespace

Monoid TopK::monoid() const { return {"top-k", element_bytes(), combine, const_cast<TopK*>(this)}; }

// `merged` has room for 2 k pairs.
void TopK::merge(TopKPair* into, const TopKPair* from, TopKPair* merged) const {
  std::size_t a = 0, b = 0, count = 0;
  while (a < k_ || b < k_) {
    const std::uint32_t index_a = a < k_ ? into[a].index : TopKPair::kUnused;
    const std::uint32_t index_b = b < k_ ? from[b].index : TopKPair::kUnused;
    if (index_a == TopKPair::kUnused && index_b == TopKPair::kUnused) break;
    if (index_a == index_b) {
      const float x = into[a++].value, y = from[b++].value;
      merged[count++] = {index_a, same_ == Same::kSum ? x + y : greater(x, y)};
    } else {
      merged[count++] = index_a < index_b ? into[a++] : from[b++];
    }
  }
  if (count > k_) {
    std::nth_element(merged, merged + k_, merged + count, before);
    count = k_;
    std::sort(merged, merged + count, [](const TopKPair& x, const TopKPair& y) { return x.index < y.index; });
  }
  std::copy_n(merged, count, into);
  std::fill(into + count, into + k_, TopKPair{});
}

std::vector<TopKPair> top_pairs(std::span<const float> values, std::uint32_t k) {
  std::vector<TopKPair> pairs;
  for (std::size_t i = 0; i < values.size(); ++i) pairs.push_back({static_cast<std::uint32_t>(i), values[i]});
  const auto kept = pairs.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(k, pairs.size()));
  std::partial_sort(pairs.begin(), kept, pairs.end(), before);
  std::sort(pairs.begin(), kept, [](const TopKPair& a, const TopKPair& b) { return a.index < b.index; });
  pairs.resize(static_cast<std::size_t>(kept - pairs.begin()));
  pairs.resize(k);
  return pairs;
}

void TopK::combine(void* into, const void* from, std::size_t count, void* context) {
  const TopK& top = *static_cast<const TopK*>(context);
  const std::size_t k = top.k_, bytes = top.element_bytes();
  std::vector<TopKPair> pairs(4 * k);  // Both sides, which may be unaligned, and what they merge into.
  auto* to = static_cast<std::byte*>(into);
  const auto* by = static_cast<const std::byte*>(from);
  for (std::size_t i = 0; i < count; ++i, to += bytes, by += bytes) {
    std::memcpy(pairs.data(), to, bytes);
    std::memcpy(pairs.data() + k, by, bytes);
    top.merge(pairs.data(), pairs.data() + k, pairs.data() + 2 * k);
    std::memcpy(to, pairs.data(), bytes);
  }
}

}  // namespace thalweg
