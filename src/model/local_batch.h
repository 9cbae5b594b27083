// A batch with its keys replaced by small local numbers: each distinct key is pulled, computed on and pushed
// once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/mix.h"
#include "model/key_index.h"
#include "thalweg/batch.h"

namespace thalweg {

// Built from a Batch and then independent of it; buffers are reused between batches.
class LocalBatch {
 public:
  // Deduplicates: keys() becomes the distinct placed keys, strictly ascending; local()[e] is the position in
  // keys() of the key of entry e. Takes labels, weights, row offsets, values and fields over by swap and
  // leaves `batch` empty, with buffers to fill again. Precondition: no key is kReservedKey.
  void assign(Batch& batch, KeyIndex& index);

  // Keeps each entry's key as one of its own: keys() are those of the entries in order, placed, and local()
  // counts them. For scoring where looking up is as cheap as to find out what is equal.
  void assign_each(Batch& batch);

  // For dense models: no key is a row of a table, so keys() is empty and local() has the keys as they are.
  // Precondition: they are below 2^32.
  void keep(Batch& batch);

  std::span<const PlacedKey> keys() const { return keys_; }
  std::span<const std::uint32_t> local() const { return local_; }
  const Batch& rows() const { return rows_; }  // Its `keys` are gone; labels, offsets, values, fields remain.
  std::size_t size() const { return rows_.rows(); }

 private:
  void take(Batch& batch);

  Batch rows_;
  std::vector<PlacedKey> keys_;
  std::vector<std::uint32_t> local_;
};

}  // namespace thalweg
