#include "model/key_index.h"

#include <algorithm>
#include <bit>

#include "base/check.h"
#include "model/place_keys.h"
#include "model/take_slots.h"

namespace thalweg {
namespace {

constexpr unsigned kMinBits = 8;
constexpr std::uint64_t kFree = ~kNoPlace;
constexpr std::size_t kPlacedAtOnce = 256;  // Entries placed between two looks at the load.

// Load at most 0.4: fewer collisions are not worth a table that outgrows the cache.
unsigned bits_for(std::size_t distinct) {
  return std::max(kMinBits, static_cast<unsigned>(std::bit_width(distinct * 5 / 2)));
}

}  // namespace

void KeyIndex::assign(std::span<const Key> keys, std::vector<PlacedKey>& distinct,
                      std::vector<std::uint32_t>& local) {
  // The previous batch tells how many distinct keys to expect; a batch far smaller than it must not pay for
  // its scan.
  const std::size_t expected =
      distinct_ == 0 ? keys.size() / 4 : std::min(distinct_ + distinct_ / 8, keys.size());
  const unsigned wanted = bits_for(expected);
  if (wanted > bits_ || wanted + 2 <= bits_) set_capacity(wanted);
  local.resize(keys.size());
  while (!place_entries(keys, local.data())) {
    std::fill(slots_.begin(), slots_.end(), kFree);
    set_capacity(bits_ + 1);
  }
  gather_keys(distinct);
  rank_keys(distinct, local);
}

void KeyIndex::set_capacity(unsigned bits) {
  bits_ = bits;
  const std::size_t home = std::size_t{1} << bits;
  slots_.resize(home + home / 2 + kPlacedAtOnce + 1, kFree);
  rank_.resize(slots_.size());
}

// Gives each entry the slot of its key; false when the table would get more than half full.
bool KeyIndex::place_entries(std::span<const Key> keys, std::uint32_t* local) {
  const unsigned shift = 64 - bits_;
  const std::size_t limit = std::size_t{1} << (bits_ - 1);
  std::uint64_t* const slots = slots_.data();
  std::size_t used = 0;
  bool reserved = false;
  PlacedKey placed[kPlacedAtOnce] = {};
  for (std::size_t begin = 0; begin < keys.size(); begin += kPlacedAtOnce) {
    const std::size_t end = std::min(begin + kPlacedAtOnce, keys.size());
    place_keys(keys.subspan(begin, end - begin), placed);
    for (std::size_t e = begin; e < end; ++e) {
      const PlacedKey key = placed[e - begin];
      const std::uint64_t wanted = ~key;
      reserved |= wanted == kFree;
      std::size_t slot = key >> shift;
      std::uint64_t held = slots[slot];
      // min() is zero when the slot is free or holds the key, without telling which: a branch on that would
      // be mispredicted for each new key.
      while (std::min(held, held ^ wanted) != 0) held = slots[++slot];
      used += held == kFree;
      slots[slot] = wanted;
      local[e] = static_cast<std::uint32_t>(slot);
    }
    if (used > limit) return false;
  }
  THALWEG_CHECK(!reserved, "readers refuse the reserved key");
  distinct_ = used;
  return true;
}

// Empties the table into `out` and slot_of_, in slot order.
void KeyIndex::gather_keys(std::vector<PlacedKey>& out) {
  static_assert(kFree == 0);
  out.resize(distinct_ + kTakenAtOnce);
  slot_of_.resize(distinct_ + kTakenAtOnce);
  std::uint64_t* const slots = slots_.data();
  PlacedKey* const keys = out.data();
  std::uint32_t* const slot_of = slot_of_.data();
  std::size_t slot = std::size_t{1} << bits_;
  std::size_t count = take_slots({slots, slot}, keys, slot_of);
  for (; slots[slot] != kFree; ++slot) {
    keys[count] = ~slots[slot];
    slot_of[count++] = static_cast<std::uint32_t>(slot);
    slots[slot] = kFree;
  }
  THALWEG_CHECK(count == distinct_, "each distinct key is in one slot");
  out.resize(count);
}

// Sorts the nearly sorted keys by insertion (no key leaves its cluster) and turns slots into positions.
void KeyIndex::rank_keys(std::vector<PlacedKey>& keys, std::vector<std::uint32_t>& local) {
  const std::size_t count = keys.size();
  for (std::size_t i = 1; i < count; ++i) {
    if (keys[i - 1] < keys[i]) continue;
    const PlacedKey key = keys[i];
    const std::uint32_t slot = slot_of_[i];
    std::size_t j = i;
    for (; j > 0 && keys[j - 1] > key; --j) keys[j] = keys[j - 1], slot_of_[j] = slot_of_[j - 1];
    keys[j] = key, slot_of_[j] = slot;
  }
  for (std::size_t i = 0; i < count; ++i) rank_[slot_of_[i]] = static_cast<std::uint32_t>(i);
  for (std::uint32_t& entry : local) entry = rank_[entry];
}

}  // namespace thalweg
