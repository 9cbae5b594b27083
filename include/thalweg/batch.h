// Training rows as the readers produce them and the models consume them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "thalweg/ids.h"

namespace thalweg {

// Rows in compressed form: row r holds entries [row_begin[r], row_begin[r + 1]). Reused between reads.
struct Batch {
  std::vector<float> labels;                   // One a row.
  std::vector<float> weights;                  // One a row, or empty: every weight is 1.
  std::vector<std::uint32_t> row_begin = {0};  // rows() + 1 offsets.
  std::vector<Key> keys;                       // One an entry, in file order; a key may repeat in a row.
  std::vector<float> values;                   // One an entry, or empty: every value is 1.
  std::vector<std::uint32_t> fields;           // One an entry, or empty: the format has no fields.

  std::size_t rows() const { return labels.size(); }
  std::size_t entries() const { return keys.size(); }
  void clear() {
    labels.clear(), weights.clear(), keys.clear(), values.clear(), fields.clear();
    row_begin.assign(1, 0);
  }
};

}  // namespace thalweg
