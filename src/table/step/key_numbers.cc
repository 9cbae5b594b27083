#include "table/step/key_numbers.h"

#include <algorithm>

#include "base/range.h"

namespace thalweg {
namespace {

constexpr std::size_t kSlotsAKey = 2;  // Home slots at least, so that clusters stay short.

}  // namespace

void KeyNumbers::reset(const RangeSet& owned, std::uint16_t ranges) {
  ranges_ = ranges;
  owned_ = 0;
  run_.reset();
  if (owned.runs().size() == 1) run_ = owned.runs()[0].begin;
  place_of_range_.assign(ranges, 0);
  for (const RangeSpan run : owned.runs()) {
    for (std::uint16_t range = run.begin; range < run.end; ++range)
      place_of_range_[range] = static_cast<std::uint32_t>(owned_++);
  }
  const std::size_t expected = size_ + size_ / 8;  // As many as before, about.
  size_ = 0;
  slots_a_range_ = 0;
  make_room(expected);
}

std::size_t KeyNumbers::home(PlacedKey key) const {
  const std::size_t place = place_of_range_[range_of(key, ranges_).value];
  return place * slots_a_range_ + scale_to(key * ranges_, slots_a_range_);
}

// For so many keys; those that are there find their slots anew.
void KeyNumbers::make_room(std::size_t keys) {
  slots_a_range_ = std::max(slots_a_range_, kSlotsAKey * keys / std::max<std::size_t>(owned_, 1) + 4);
  held_.assign(slots_a_range_ * owned_, 0);
  numbers_.resize(held_.size());
  for (std::size_t n = 0; n < size_; ++n) {
    const std::size_t slot = find(keys_[n]);
    held_[slot] = ~keys_[n];
    numbers_[slot] = static_cast<std::uint32_t>(n);
  }
}

// Its slot, or the free one where it belongs: there are more slots than keys.
std::size_t KeyNumbers::find(PlacedKey key) const {
  std::size_t slot = home(key);
  while (held_[slot] != 0 && held_[slot] != ~key) {
    if (++slot == held_.size()) slot = 0;
  }
  return slot;
}

void KeyNumbers::add(std::span<const PlacedKey> keys, std::uint32_t* numbers) {
  if (keys_.size() < size_ + keys.size() + 1) keys_.resize(size_ + keys.size() + 1);
  // Or else the first of these, which are the least, would all meet in a few slots.
  if (kSlotsAKey * keys.size() > held_.size()) make_room(size_ + keys.size());
  constexpr std::size_t kAtOnce = 256;
  for (std::size_t begin = 0; begin < keys.size(); begin += kAtOnce) {
    const auto now = keys.subspan(begin, std::min(kAtOnce, keys.size() - begin));
    if (kSlotsAKey * (size_ + now.size()) > held_.size()) make_room(2 * (size_ + now.size()));
    add_some(now, numbers + begin);
  }
}

// As find() goes, with all that the loop needs in registers. Precondition: there is room.
template <class Home>
void KeyNumbers::add_some(std::span<const PlacedKey> keys, std::uint32_t* out, const Home& home) {
  std::uint64_t* const held = held_.data();
  std::uint32_t* const numbers = numbers_.data();
  PlacedKey* const known = keys_.data();
  const std::size_t slots = held_.size();
  std::size_t size = size_;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const PlacedKey key = keys[i];
    const std::uint64_t wanted = ~key;
    std::size_t slot = home(key);
    std::uint64_t there = held[slot];
    // min() is zero where the slot is free or has the key: whether a key is new is as good as random, so
    // nothing branches on it.
    while (std::min(there, there ^ wanted) != 0) {
      if (++slot == slots) slot = 0;
      there = held[slot];
    }
    const bool fresh = there == 0;
    const auto is_new = -static_cast<std::uint32_t>(fresh);
    const std::uint32_t number = (static_cast<std::uint32_t>(size) & is_new) | (numbers[slot] & ~is_new);
    held[slot] = wanted;
    numbers[slot] = number;
    known[size] = key;
    size += fresh;
    out[i] = number;
  }
  size_ = size;
}

void KeyNumbers::add_some(std::span<const PlacedKey> keys, std::uint32_t* out) {
  if (run_) {  // One multiplication comes to the same as those of home().
    const std::uint64_t slots = ranges_ * slots_a_range_, before = *run_ * slots_a_range_;
    return add_some(keys, out, [=](PlacedKey key) { return scale_to(key, slots) - before; });
  }
  const std::uint32_t* const places = place_of_range_.data();
  add_some(keys, out, [places, ranges = ranges_, slots = slots_a_range_](PlacedKey key) {
    return places[range_of(key, ranges).value] * slots + scale_to(key * ranges, slots);
  });
}

// Slots are in order but for keys that met on their way to one: each is moved past those few.
void KeyNumbers::sort(std::vector<PlacedKey>& keys, std::vector<std::uint32_t>& numbers) const {
  keys.resize(size_ + 1);  // One more, since nothing branches on whether a slot is free.
  numbers.resize(size_ + 1);
  std::size_t count = 0;
  const auto take = [&](std::size_t begin, std::size_t end) {
    for (std::size_t slot = begin; slot < end; ++slot) {
      keys[count] = ~held_[slot];
      numbers[count] = numbers_[slot];
      count += held_[slot] != 0;
    }
  };
  // Those that came past the last slot are in the first ones.
  std::size_t first = 0;
  while (first < held_.size() && held_[first] != 0 && home(~held_[first]) > first) ++first;
  take(first, held_.size());
  take(0, first);
  keys.resize(size_);
  numbers.resize(size_);
  for (std::size_t i = 1; i < size_; ++i) {
    const PlacedKey key = keys[i];
    const std::uint32_t number = numbers[i];
    std::size_t at = i;
    for (; at > 0 && keys[at - 1] > key; --at) keys[at] = keys[at - 1], numbers[at] = numbers[at - 1];
    keys[at] = key, numbers[at] = number;
  }
}

std::size_t KeyNumbers::bytes() const {
  return held_.capacity() * sizeof(std::uint64_t) + numbers_.capacity() * sizeof(std::uint32_t) +
         keys_.capacity() * sizeof(PlacedKey) + place_of_range_.capacity() * sizeof(std::uint32_t);
}

}  // namespace thalweg
