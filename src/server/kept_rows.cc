#include "server/kept_rows.h"

#include <algorithm>
#include <bit>

namespace thalweg {
namespace {

constexpr std::size_t kFirstSlots = 16;

}  // namespace

// Where it is looked for first. Numbers of rows follow each other, so that bits are mixed.
std::size_t KeptRows::home_of(std::uint64_t key) const {
  const auto bits = static_cast<unsigned>(std::countr_zero(held_.size()));
  return (key * 0x9e3779b97f4a7c15ULL) >> (64 - bits);
}

void KeptRows::fetch(std::uint64_t key) const {
  if (held_.empty()) return;
  const std::size_t home = home_of(key);
  __builtin_prefetch(&held_[home]);
  __builtin_prefetch(&numbers_[home]);
}

// Its slot, or the free one where it belongs.
std::size_t KeptRows::slot_of(std::uint64_t key) const {
  std::size_t slot = home_of(key);
  while (held_[slot] != 0 && held_[slot] != ~key) slot = (slot + 1) & (held_.size() - 1);
  return slot;
}

void KeptRows::grow() {
  const std::size_t slots = std::max(kFirstSlots, 2 * held_.size());
  const auto held = std::exchange(held_, std::vector<std::uint64_t>(slots));
  const auto numbers = std::exchange(numbers_, std::vector<std::uint32_t>(slots));
  for (std::size_t old = 0; old < held.size(); ++old) {
    if (held[old] == 0) continue;
    const std::size_t slot = slot_of(~held[old]);
    held_[slot] = held[old];
    numbers_[slot] = numbers[old];
  }
}

std::pair<std::uint32_t, bool> KeptRows::add(std::uint64_t key) {
  if (2 * (size_ + std::size_t{1}) > held_.size()) grow();
  const std::size_t slot = slot_of(key);
  if (held_[slot] != 0) return {numbers_[slot], false};
  held_[slot] = ~key;
  numbers_[slot] = size_;
  there_.push_back(false);
  return {size_++, true};
}

std::uint32_t KeptRows::find(std::uint64_t key) const {
  if (size_ == 0) return kNone;
  const std::size_t slot = slot_of(key);
  return held_[slot] == 0 ? kNone : numbers_[slot];
}

void KeptRows::put(std::uint32_t number, const float* row, std::size_t width) {
  const std::size_t page = number / kPageRows;
  if (page >= pages_.size()) pages_.resize(page + 1);
  if (pages_[page] == nullptr) pages_[page].reset(new float[kPageRows * width]);
  std::copy_n(row, width, pages_[page].get() + number % kPageRows * width);
  there_[number] = true;
}

const float* KeptRows::row(std::uint32_t number, std::size_t width) const {
  return there_[number] ? pages_[number / kPageRows].get() + number % kPageRows * width : nullptr;
}

}  // namespace thalweg
