// What a server that owns ranges tells the next of their chain: each change as a value, in the order in which
// it was made. A host that is given them all comes to the same rows and marks. van Renesse, Schneider, "Chain
// Replication for Supporting High Throughput and Availability", OSDI 2004, section 2.
#pragma once

#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "server/push_entry.h"
#include "server/range_state.h"

namespace thalweg {

// Where steps are kept until they close: what closing them has changed. So one sum travels instead of each
// shard's contribution, and what is not in it yet is sent again by those who pushed it.
struct StepEntry {
  Step closed;  // The rows hold the steps before this one.
  RangeSpan ranges;
  std::vector<std::pair<Step, Payload>> sums;  // Ascending by step; those of one share no row.
  // Of these steps, without what was pushed; and of later ones, where that was nothing.
  std::vector<PushEntry> arrivals;
};

// Rows that a range begins with.
struct LoadEntry {
  RangeId range;
  std::size_t width = 0;  // Floats a row.
  Payload rows;
};

// What else is known of a range as it begins, where pushes came before.
struct BeginEntry {
  RangeState state;  // Without rows or replies.
};

using LogEntry = std::variant<PushEntry, StepEntry, LoadEntry, BeginEntry>;

RangeSpan ranges_of(const LogEntry& entry);

// An entry as the segments of a frame. Where its values are those of one payload, it shares them.
struct EntrySegments {
  Bytes first;
  Bytes second;
  bool operator==(const EntrySegments& other) const {
    return first.text() == other.first.text() && second.text() == other.second.text();
  }
};
EntrySegments encode(const LogEntry& entry);
// Shares the segments. Empty unless they are exactly one entry, of finite values, for a table like this in a
// job of so many shards.
std::optional<LogEntry> decode_log_entry(const EntrySegments& bytes, const TableSpec& spec,
                                         std::uint32_t shards);

}  // namespace thalweg
