// Numbers of flows by their key, in one piece of memory: a simulation looks up each of thousands a few times.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace thalweg {

// Open addressing with linear probing.
class FlowTable {
 public:
  static constexpr std::uint32_t kNew = ~std::uint32_t{0};

  // The number that belongs to the key; kNew until it is set. The reference holds until the next call.
  std::uint32_t& operator[](std::uint64_t key) {
    if (2 * (size_ + 1) > slots_.size()) grow();
    Slot& slot = find(slots_, key);
    if (slot.key != key) {
      slot = {key, kNew};
      ++size_;
    }
    return slot.flow;
  }
  std::size_t size() const { return size_; }

 private:
  static constexpr std::uint64_t kEmpty = ~std::uint64_t{0};  // Keys have ranks of 24 bits.
  struct Slot {
    std::uint64_t key = kEmpty;
    std::uint32_t flow = kNew;
  };

  static Slot& find(std::vector<Slot>& slots, std::uint64_t key) {
    const std::size_t mask = slots.size() - 1;
    std::size_t at = key * 0x9e3779b97f4a7c15u >> 20 & mask;
    while (slots[at].key != key && slots[at].key != kEmpty) at = (at + 1) & mask;
    return slots[at];
  }
  void grow() {
    std::vector<Slot> larger(slots_.empty() ? 64 : 2 * slots_.size());
    for (const Slot& slot : slots_) {
      if (slot.key != kEmpty) find(larger, slot.key) = slot;
    }
    slots_ = std::move(larger);
  }

  std::vector<Slot> slots_;  // A power of two, at most half of them used.
  std::size_t size_ = 0;
};

}  // namespace thalweg
