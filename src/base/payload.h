// The keys and values of a push or a pull's answer, cut by key ranges without a copy.
#pragma once

#include "base/bytes.h"
#include "base/range.h"
#include "thalweg/options.h"

namespace thalweg {

// Sparse: placed keys, ascending. Dense: the first row of a block and, where there are no values to tell it,
// the number of rows. `dim` floats a key or row, or no values at all. Nothing when there are no rows.
struct Payload {
  Bytes keys;
  Bytes values;

  bool empty() const { return keys.empty(); }
  std::size_t rows(const TableSpec& spec) const;
};

// What lies in `ranges`. Precondition: `whole` is well-formed.
Payload cut(const TableSpec& spec, const Payload& whole, RangeSpan ranges);

}  // namespace thalweg
