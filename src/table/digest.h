// The hash of one stored row, from which digests of tables are summed.
#pragma once

#include <xxhash.h>

#include <cstdint>
#include <span>

#include "thalweg/ids.h"

namespace thalweg {

// XXH3-64 of the stored row's bytes, keyed by the row's key. A table's digest is the sum of these mod 2^64,
// so that digests of parts add up to the digest of the whole.
inline std::uint64_t row_digest(Key key, std::span<const float> stored) {
  return XXH3_64bits_withSeed(stored.data(), stored.size_bytes(), key);
}

}  // namespace thalweg
