// A batch with its keys replaced by small local numbers: each distinct key is pulled, computed on and pushed
// once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/mix.h"
#include "thalweg/batch.h"

namespace thalweg {

// Built from a Batch and then independent of it; buffers are reused between batches. One per thread.
class LocalBatch {
 public:
  // Deduplicates: keys() becomes the distinct placed keys, strictly ascending; local()[e] is the position in
  // keys() of the key of entry e. Takes labels, weights, row offsets, values and fields over by swap and
  // leaves `batch` empty, with buffers to fill again. Precondition: no key is kReservedKey.
  void assign(Batch& batch);

  std::span<const PlacedKey> keys() const { return keys_; }
  std::span<const std::uint32_t> local() const { return local_; }
  const Batch& rows() const { return rows_; }  // Its `keys` are gone; labels, offsets, values, fields remain.
  std::size_t size() const { return rows_.rows(); }

 private:
  void set_capacity(unsigned bits);
  bool place_entries(std::span<const Key> keys);
  void gather_keys();
  void rank_keys();

  Batch rows_;
  std::vector<PlacedKey> keys_;
  std::vector<std::uint32_t> local_;
  // An open-addressing table ordered by placed key's high bits, so that one scan yields nearly sorted keys.
  // It has 2^bits_ home slots and behind them room for the longest overflow, so probing never wraps and never
  // tests for the end. A slot holds ~placed; all are zero, free, between calls.
  std::vector<std::uint64_t> slots_;
  std::vector<std::uint32_t> rank_;     // Of the key in each slot; valid only for slots in use.
  std::vector<std::uint32_t> slot_of_;  // Slot of each key of keys_.
  unsigned bits_ = 0;
  std::size_t distinct_ = 0;
};

}  // namespace thalweg
