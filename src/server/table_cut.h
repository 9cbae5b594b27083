// What a server has of one table at one moment, for a checkpoint. Its rows come behind it, see RowWalk.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/range_set.h"
#include "server/chain/log_entry.h"
#include "server/changes/touched_rows.h"
#include "server/range_state.h"

namespace thalweg {

struct TableCut {
  RangeSet owned;
  std::vector<LoadEntry> entries{};  // Once they are gathered, of ranges that have rows.
  // Of all ranges, without rows, where a push counts as it comes: which pushes are in the rows, and what has
  // come and is not. None in lockstep, where that follows from the step.
  std::vector<RangeState> states{};
  // Of which rows there are entries, since the cut that the order names; null: of all.
  std::shared_ptr<const TouchedRows> touched{};
  std::uint64_t rows = 0;  // That there are, with entries or not.
};

}  // namespace thalweg
