// The rows of one key range: ordered linear probing (Amble and Knuth, "Ordered hash tables", The Computer
// Journal 1974) whose home slot grows with the placed key. So slots are sorted by key, a search ends at the
// first larger key or empty slot, iteration ascends, and growth is one sequential copy. Wide rows lie apart
// and never move: a slot has its row's number, and an empty slot costs no row.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/mix.h"
#include "table/buffer.h"

namespace thalweg {

class SparseBlock {
 public:
  // Rows of `width` floats for keys of one of `ranges` ranges. Allocates nothing before the first row.
  // `arena`, when given, outlives the block.
  SparseBlock(std::size_t width, std::uint16_t ranges, Arena* arena = nullptr)
      : width_(width),
        ranges_(ranges),
        page_shift_(page_shift()),
        apart_(width >= kWideFloats),
        arena_(arena) {}

  // What it takes memory from, from now on.
  void use(Arena* arena) { arena_ = arena; }

  // Where a key lies inside its range, as a fraction of 2^64.
  static constexpr std::uint64_t fraction(PlacedKey key, std::uint16_t ranges) { return key * ranges; }
  std::size_t home(std::uint64_t fraction) const { return scale_to(fraction, capacity_); }

  // First slot at or after `slot`, the key's home, whose key is not below `key`: the key's slot if it is
  // stored.
  std::size_t find_from(std::size_t slot, PlacedKey key) const {
    std::size_t below = 0;
    for (std::size_t i = 0; i < kCounted; ++i) below += keys_[slot + i] < key ? 1 : 0;
    return find_from(slot, key, below);
  }
  // The same where it is known how many of the first kCounted keys are below: counting takes no branch that
  // depends on how far a key lies from its home, and few lie further.
  std::size_t find_from(std::size_t slot, PlacedKey key, std::size_t below) const {
    slot += below;
    if (below == kCounted) {
      while (keys_[slot] < key) ++slot;
    }
    return slot;
  }
  std::size_t find(PlacedKey key) const { return find_from(home(fraction(key, ranges_)), key); }
  bool holds(std::size_t slot, PlacedKey key) const { return keys_[slot] == key; }

  // Makes room for `extra` new keys, so that inserting them moves no more than one cluster each.
  void reserve(std::size_t extra);
  // Adds an absent key and returns its slot; its row is not initialised. Other keys may change slots.
  std::size_t insert(PlacedKey key);

  const PlacedKey* slot_key(std::size_t slot) const { return keys_ + slot; }
  // Of a slot that is taken.
  float* row(std::size_t slot) { return apart_ ? row_apart(ids_[slot]) : rows_ + slot * width_; }
  const float* row(std::size_t slot) const { return apart_ ? row_apart(ids_[slot]) : rows_ + slot * width_; }
  // Where insert() is about to put the row of an absent key whose slot this is; null: not known yet.
  const float* row_to_come(std::size_t slot) const { return apart_ ? nullptr : rows_ + slot * width_; }
  // One entry a slot, ascending but for kNoPlace in empty slots.
  std::span<const PlacedKey> slots() const { return {keys_, slots_}; }
  std::size_t size() const { return size_; }
  static constexpr std::size_t kCounted = 8;
  std::size_t bytes() const;

 private:
  static constexpr PlacedKey kNoSlots[kCounted + 1] = {kNoPlace, kNoPlace, kNoPlace, kNoPlace, kNoPlace,
                                                       kNoPlace, kNoPlace, kNoPlace, kNoPlace};

  // Floats of a row from which on it lies apart; pages of rows are at least as large as arrays of an arena.
  static constexpr std::size_t kWideFloats = 64;
  static constexpr std::size_t kPageBytes = Arena::kBytesMin;

  unsigned page_shift() const {
    return static_cast<unsigned>(std::bit_width(kPageBytes / (width_ * sizeof(float))));
  }
  float* row_apart(std::size_t id) { return const_cast<float*>(std::as_const(*this).row_apart(id)); }
  const float* row_apart(std::size_t id) const {
    const std::size_t in_page = id & ((std::size_t{1} << page_shift_) - 1);
    return pages_[id >> page_shift_].data() + in_page * width_;
  }
  void rebuild(std::size_t capacity, std::size_t slack);

  const PlacedKey* keys_ = kNoSlots;  // slots_ keys, then kCounted + 1 of kNoPlace.
  float* rows_ = nullptr;
  std::size_t capacity_ = 0;  // Home slots; beyond them lie the slack slots, instead of wrapping around.
  std::size_t width_;
  std::size_t slots_ = 0;
  std::size_t size_ = 0;
  std::uint16_t ranges_;
  unsigned page_shift_;  // Of rows apart: 2^page_shift_ a page.
  bool apart_;
  bool last_taken_ = false;  // The last slack slot holds a key.
  Arena* arena_;
  Buffer<PlacedKey> key_buffer_;
  Buffer<float> row_buffer_;
  // Of rows apart: by slot, and by number, so many a page.
  std::uint32_t* ids_ = nullptr;
  Buffer<std::uint32_t> id_buffer_;
  std::vector<Buffer<float>> pages_;
};

}  // namespace thalweg
