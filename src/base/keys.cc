#include <algorithm>
#include <numeric>

#include "base/check.h"
#include "base/mix.h"
#include "thalweg/store.h"

namespace thalweg {

Keys Keys::of(std::span<const Key> keys, std::vector<std::uint32_t>* order) {
  std::vector<PlacedKey> placed(keys.size());
  std::transform(keys.begin(), keys.end(), placed.begin(), place);
  std::vector<std::uint32_t> rank(order != nullptr ? keys.size() : 0);
  if (order != nullptr) {
    std::iota(rank.begin(), rank.end(), 0u);
    std::sort(rank.begin(), rank.end(), [&](auto a, auto b) { return placed[a] < placed[b]; });
    order->assign(keys.size(), 0);
    std::uint32_t position = 0;
    for (std::size_t i = 0; i < rank.size(); ++i) {
      if (i > 0 && placed[rank[i]] != placed[rank[i - 1]]) ++position;
      (*order)[rank[i]] = position;
    }
  }
  std::sort(placed.begin(), placed.end());
  placed.erase(std::unique(placed.begin(), placed.end()), placed.end());
  THALWEG_CHECK(placed.empty() || placed.back() != kNoPlace, "key 2^64-1 is reserved");
  return Keys::placed(std::move(placed));
}

Key Keys::key(std::size_t i) const { return dense_ ? (*values_)[0] + i : unplace((*values_)[i]); }

}  // namespace thalweg
