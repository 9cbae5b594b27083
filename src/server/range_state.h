// All that a server knows of one key range of a table, as a value: whoever takes it over goes on as if it had
// owned the range from the start.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/payload.h"
#include "server/arrival_rounds.h"
#include "staleness/marks.h"
#include "staleness/reached.h"

namespace thalweg {

// The contribution to a step of one shard, or of a block of them; holds the frame's payload, not a copy.
struct StepPart {
  RangeSpan ranges;
  Payload payload;
};
// By (first) shard; those of one shard are for different ranges.
using StepParts = std::vector<std::vector<StepPart>>;

// An answer given to a shard: the keys that it asked for and their rows.
struct Reply {
  RangeSpan ranges;
  Payload payload;
  bool whole = true;  // Else what is left of one after ranges have moved.
};
using Replies = std::map<Step, std::vector<Reply>>;  // Of one shard.

struct RangeState {
  RangeId range;
  std::vector<std::uint64_t> keys;  // Of all stored rows, ascending.
  std::vector<float> rows;          // Each with its optimizer state.
  std::vector<Mark> marks;          // By shard.
  std::vector<Reached> reached;     // By shard, for its heir.
  Step applied;                     // The rows may hold steps before this one, and hold no later one.
  std::map<Step, StepParts> open_steps;
  Round round;                    // Where pushes are counted.
  std::vector<VersionRead> read;  // Where pushes are counted: by shard; else none.
  std::vector<Replies> replies;   // By shard.
};

Bytes encode(const RangeState& state);
// Empty unless the bytes are exactly one state of a range of a table like this in a job of so many shards.
// What rows hold is left to Table::load.
std::optional<RangeState> decode_range_state(const Bytes& bytes, const TableSpec& spec, std::uint32_t shards);
// The same, and empty where it has rows or replies.
std::optional<RangeState> decode_begin(const Bytes& bytes, const TableSpec& spec, std::uint32_t shards);

}  // namespace thalweg
