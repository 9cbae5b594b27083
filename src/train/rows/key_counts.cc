#include "train/rows/key_counts.h"

#include <algorithm>
#include <bit>

#include "base/check.h"
#include "base/random.h"

namespace thalweg {

KeyCounts::KeyCounts(std::uint64_t width) : mask_(width - 1), cells_(width * kDepth) {
  THALWEG_CHECK(std::has_single_bit(width), "places are cut out of a hash");
}

// Two hashes give all of them (Kirsch and Mitzenmacher, Less hashing, same performance, ESA 2006).
std::array<std::size_t, KeyCounts::kDepth> KeyCounts::places(Key key) const {
  const std::uint64_t first = splitmix(key), step = splitmix(first) | 1;
  std::array<std::size_t, kDepth> out;
  for (std::size_t row = 0; row < kDepth; ++row)
    out[row] = static_cast<std::size_t>(row * (mask_ + 1) + ((first + row * step) >> 20 & mask_));
  return out;
}

// visit(number, its places) for each key, whose cells are fetched some keys ahead, so that cache misses
// overlap.
template <class Visit>
void KeyCounts::for_places(std::span<const Key> keys, Visit visit) const {
  constexpr std::size_t kAhead = 16;
  std::array<std::array<std::size_t, kDepth>, kAhead> waiting;
  const auto fetch = [&](std::size_t i) {
    waiting[i % kAhead] = places(keys[i]);
    for (const std::size_t at : waiting[i % kAhead]) __builtin_prefetch(&cells_[at], 1);
  };
  for (std::size_t i = 0; i < std::min(kAhead, keys.size()); ++i) fetch(i);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    visit(i, waiting[i % kAhead]);
    if (i + kAhead < keys.size()) fetch(i + kAhead);
  }
}

void KeyCounts::add(std::span<const Key> keys) {
  for_places(keys, [&](std::size_t, const auto& at) {
    for (const std::size_t cell : at) {
      if (cells_[cell] < kMost) ++cells_[cell];
    }
  });
}

std::uint32_t KeyCounts::count(Key key) const {
  std::uint8_t out = 0;
  count({&key, 1}, {&out, 1});
  return out;
}

void KeyCounts::count(std::span<const Key> keys, std::span<std::uint8_t> out) const {
  for_places(keys, [&](std::size_t i, const auto& at) {
    out[i] = std::min({cells_[at[0]], cells_[at[1]], cells_[at[2]], cells_[at[3]]});
  });
}

}  // namespace thalweg
