// What a server that keeps a copy of a range knows of it, as a value: whoever begins with that and is given
// the log's entries from then on has the same copy.
#pragma once

#include <optional>

#include "server/chain/before_images.h"
#include "server/range_state.h"

namespace thalweg {

struct CopyState {
  RangeState state;        // Of no open steps, and without rows.
  std::uint64_t rows = 0;  // How many there are.
  Step copied;             // Sums of steps before this one are in the rows, and may come again.
  BeforeImages::OfRange images;
};

Bytes encode(const CopyState& copy);
// Empty unless the bytes are exactly one copy of a range of a table like this in a job of so many shards.
std::optional<CopyState> decode_copy_state(const Bytes& bytes, const TableSpec& spec, std::uint32_t shards);
// Of stored rows of a range: two servers that have the same copy agree on it.
std::uint64_t digest(const Payload& rows);

}  // namespace thalweg
