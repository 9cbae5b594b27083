// Deduplication of a batch's keys: an open-addressing table ordered by the placed key's high bits, so that
// one scan yields nearly sorted keys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/mix.h"
#include "thalweg/ids.h"

namespace thalweg {

// Scratch space that stays in the cache while it is used for one batch after the other: share one among the
// batches of a thread. Empty between calls.
class KeyIndex {
 public:
  // `distinct` becomes the placed keys, strictly ascending; local[e] the position among them of the key of
  // entry e. Precondition: no key is kReservedKey.
  void assign(std::span<const Key> keys, std::vector<PlacedKey>& distinct, std::vector<std::uint32_t>& local);

 private:
  void set_capacity(unsigned bits);
  bool place_entries(std::span<const Key> keys, std::uint32_t* local);
  void gather_keys(std::vector<PlacedKey>& out);
  void rank_keys(std::vector<PlacedKey>& keys, std::vector<std::uint32_t>& local);

  // 2^bits_ home slots and behind them room for the longest overflow, so probing never wraps and never tests
  // for the end. A slot holds ~placed; all are zero, free, between calls.
  std::vector<std::uint64_t> slots_;
  std::vector<std::uint32_t> rank_;     // Of the key in each slot; valid only for slots in use.
  std::vector<std::uint32_t> slot_of_;  // Slot of each distinct key.
  unsigned bits_ = 0;
  std::size_t distinct_ = 0;
};

}  // namespace thalweg
