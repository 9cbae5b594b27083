#include "table/sparse_block.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/planted.h"

namespace thalweg {
namespace {

// Load at which a block grows, as a fraction, and by how much: after growth the load is 0.64, which keeps a
// row of three floats and its key within 32 bytes.
constexpr std::size_t kLoadNumerator = 4, kLoadDenominator = 5;
constexpr std::size_t kFirstCapacity = 4;
// Below it a block grows by half: its table is small whatever that takes, and most keys that come are new.
constexpr std::size_t kSmallCapacity = 4096;

std::size_t grown(std::size_t capacity) {
  return capacity + capacity / (capacity < kSmallCapacity ? 2 : 4) + 1;
}
std::size_t capacity_for(std::size_t size) { return size * kLoadDenominator / kLoadNumerator + 1; }
std::size_t default_slack(std::size_t capacity) { return std::clamp<std::size_t>(capacity / 4, 4, 40); }

}  // namespace

void SparseBlock::reserve(std::size_t extra) {
  const std::size_t needed = capacity_for(size_ + extra);
  if (extra == 0 || needed <= capacity_) return;
  const std::size_t capacity = std::max({needed, grown(capacity_), kFirstCapacity});
  rebuild(capacity, default_slack(capacity));
}

std::size_t SparseBlock::insert(PlacedKey key) {
  reserve(1);
  if (last_taken_) rebuild(capacity_, 2 * (slots_ - capacity_));
  const std::size_t slot = find(key);
  // Each key of the cluster from there on moves up by one, and so do their rows.
  PlacedKey* keys = key_buffer_.data();
  std::size_t hole = slot;
  for (PlacedKey carried = key; carried != kNoPlace; ++hole) std::swap(keys[hole], carried);
  if (apart_) {
    std::memmove(ids_ + slot + 1, ids_ + slot, (hole - 1 - slot) * sizeof(std::uint32_t));
    ids_[slot] = static_cast<std::uint32_t>(size_);
    if (size_ >> page_shift_ == pages_.size()) pages_.emplace_back(width_ << page_shift_, arena_);
  } else {
    std::memmove(row(slot + 1), row(slot), (hole - 1 - slot) * width_ * sizeof(float));
  }
  last_taken_ = last_taken_ || hole == slots_;
  ++size_;
  return slot;
}

void SparseBlock::rebuild(std::size_t capacity, std::size_t slack) {
  const std::size_t slots = capacity + slack;
  Buffer<PlacedKey> keys(slots + kCounted + 1, arena_);
  Buffer<float> rows(apart_ ? 0 : slots * width_, arena_);
  Buffer<std::uint32_t> ids(apart_ ? slots : 0, arena_);
  std::fill_n(keys.data(), slots + kCounted + 1, kNoPlace);
  std::size_t next = 0;
  for (std::size_t old = 0; old < slots_; ++old) {
    if (keys_[old] == kNoPlace) continue;
    const std::size_t slot = std::max<std::size_t>(next, scale_to(fraction(keys_[old], ranges_), capacity));
    if (slot + 1 >= slots) return rebuild(capacity, 2 * slack);
    keys.data()[slot] = keys_[old];
    if (apart_) {
      ids.data()[slot] = ids_[old];
    } else {
      copy_floats(row(old), width_, rows.data() + slot * width_);
      if (THALWEG_BUG(kStateLost)) rows.data()[(slot + 1) * width_ - 1] = 0;
    }
    next = slot + 1;
  }
  key_buffer_ = std::move(keys);
  row_buffer_ = std::move(rows);
  id_buffer_ = std::move(ids);
  keys_ = key_buffer_.data();
  ids_ = id_buffer_.data();
  rows_ = row_buffer_.data();
  capacity_ = capacity;
  slots_ = slots;
  last_taken_ = false;
}

std::size_t SparseBlock::bytes() const {
  std::size_t bytes = key_buffer_.bytes() + row_buffer_.bytes() + id_buffer_.bytes() +
                      pages_.capacity() * sizeof(Buffer<float>);
  for (const Buffer<float>& page : pages_) bytes += page.bytes();
  return bytes;
}

}  // namespace thalweg
