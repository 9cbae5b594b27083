#include <algorithm>
#include <numeric>

#include "base/check.h"
#include "base/mix.h"
#include "base/placed_keys.h"
#include "thalweg/store.h"

namespace thalweg {

namespace {

struct Ranked {
  PlacedKey place;
  std::uint32_t input;
};
PlacedKey place_of(PlacedKey key) { return key; }
PlacedKey place_of(const Ranked& ranked) { return ranked.place; }

// Ascending. Placed keys are spread evenly, so dealing them into buckets of a few leaves little to sort.
template <class Item>
void sort_by_place(std::vector<Item>& items) {
  constexpr std::size_t kItemsABucket = 4, kWorthDealing = 256;
  const auto less = [](const Item& a, const Item& b) { return place_of(a) < place_of(b); };
  if (items.size() < kWorthDealing) return std::sort(items.begin(), items.end(), less);
  const std::size_t buckets = items.size() / kItemsABucket;
  std::vector<std::uint32_t> ends(buckets + 1);
  for (const Item& item : items) ++ends[scale_to(place_of(item), buckets) + 1];
  std::partial_sum(ends.begin(), ends.end(), ends.begin());
  std::vector<Item> dealt(items.size());
  for (const Item& item : items) dealt[ends[scale_to(place_of(item), buckets)]++] = item;
  std::ptrdiff_t begin = 0;
  for (std::size_t b = 0; b < buckets; begin = ends[b++])
    std::sort(dealt.begin() + begin, dealt.begin() + ends[b], less);
  items = std::move(dealt);
}

}  // namespace

Keys placed_keys(std::vector<std::uint64_t> placed) {
  Keys keys;
  keys.values_ = std::make_shared<const std::vector<std::uint64_t>>(std::move(placed));
  return keys;
}

Keys Keys::of(std::span<const Key> keys, std::vector<std::uint32_t>* order) {
  THALWEG_CHECK(keys.size() < ~0u, "positions are 32-bit");
  std::vector<PlacedKey> placed(keys.size());
  std::transform(keys.begin(), keys.end(), placed.begin(), place);
  if (order == nullptr) {
    sort_by_place(placed);
  } else {
    std::vector<Ranked> ranked(keys.size());
    for (std::uint32_t i = 0; i < ranked.size(); ++i) ranked[i] = {placed[i], i};
    sort_by_place(ranked);
    order->resize(keys.size());
    std::uint32_t position = 0;
    for (std::size_t i = 0; i < ranked.size(); ++i) {
      if (i > 0 && ranked[i].place != ranked[i - 1].place) ++position;
      (*order)[ranked[i].input] = position;
      placed[i] = ranked[i].place;
    }
  }
  placed.erase(std::unique(placed.begin(), placed.end()), placed.end());
  THALWEG_CHECK(placed.empty() || placed.back() != kNoPlace, "key 2^64-1 is reserved");
  return placed_keys(std::move(placed));
}

Key Keys::key(std::size_t i) const { return dense_ ? (*values_)[0] + i : unplace((*values_)[i]); }

}  // namespace thalweg
