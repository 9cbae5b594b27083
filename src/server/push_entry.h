// What an accepted push changes, as a value: a host that is given it comes to the same state as the host that
// made it of a frame.
#pragma once

#include <vector>

#include "base/payload.h"
#include "base/range_set.h"
#include "server/arrival_rounds.h"
#include "staleness/marks.h"
#include "thalweg/options.h"

namespace thalweg {

struct PushEntry {
  ShardId shard;             // The first of
  std::uint32_t shards = 1;  // the aligned block of shards whose sum this is; a power of two.
  Step step;
  LastOf ends = LastOf::kNothing;  // What the step is the last of.
  RangeSet fresh;                  // Where it has not come before, of one of the shards at least.
  RangeSet ended;                  // Where it has, and is the last of all as is known only now.
  std::vector<StaleRun> stale;     // Of `fresh`, where pushes are counted; else none.
  RangeSpan ranges;                // Of the payload; `fresh` lies in them.
  Payload payload;

  bool changes() const { return !fresh.empty() || !ended.empty(); }
};

// What a push changes in some ranges, without its payload.
PushEntry marks_part(const PushEntry& push, RangeSpan ranges);
// The same with its payload there, of which the entry's ranges are then.
PushEntry part_of(const TableSpec& spec, const PushEntry& push, RangeSpan ranges);

}  // namespace thalweg
