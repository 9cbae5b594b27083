// A batch with its keys replaced by small local numbers: each distinct key is pulled, computed on and pushed
// once.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/mix.h"
#include "thalweg/batch.h"

namespace thalweg {

// Built from a Batch and then independent of it; buffers are reused between batches.
class LocalBatch {
 public:
  // Deduplicates: keys() becomes the distinct placed keys, strictly ascending; local()[e] is the position in
  // keys() of the key of entry e. Takes labels, weights, values and fields over by swap.
  void assign(Batch& batch);

  std::span<const PlacedKey> keys() const { return keys_; }
  std::span<const std::uint32_t> local() const { return local_; }
  const Batch& rows() const { return rows_; }  // Its `keys` are gone; labels, offsets, values, fields remain.

 private:
  Batch rows_;
  std::vector<PlacedKey> keys_;
  std::vector<std::uint32_t> local_;
  // An open-addressing table ordered by placed key's high bits, so that one scan yields nearly sorted keys.
  std::vector<PlacedKey> slots_;
  std::vector<std::uint32_t> rank_;
};

}  // namespace thalweg
