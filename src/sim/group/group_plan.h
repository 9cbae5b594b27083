// What one seed means where groups are simulated: how many ranks, what they do, and what goes wrong.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/instant.h"
#include "exchange/plan/layout.h"

namespace thalweg::sim {

// Ranks here are those of the group that forms first.
struct GroupFault {
  enum class Kind : std::uint8_t {
    kKill,
    kPause,       // For `lasts`.
    kDisconnect,  // All connections between the rank and `other`, both of which go on.
    kPartition,   // What the rank and others say to each other arrives after `lasts`.
  };
  Kind kind{};
  std::uint32_t rank = 0;
  std::uint32_t other = 0;  // Of a partition: ranks from this on are on the rank's side.
  Instant at{};
  Duration lasts{};
};

struct GroupPlan {
  std::uint64_t seed = 0;
  std::uint32_t ranks = 2;
  std::uint32_t operations = 1;   // Of each group, until its ranks leave.
  bool repeats = false;           // One operation of a group, again and again.
  std::uint64_t elements = 5000;  // Of a vector, at most.
  Duration timeout{};             // Of operations and meetings.
  Duration patience{};
  Duration latency{};
  Duration jitter{};
  Duration thinking{};    // Between operations, up to.
  std::size_t room = 0;   // Bytes that a stream holds.
  bool drops_old = true;  // A rank that is in the group anew says goodbye to the old one.
  std::vector<GroupFault> faults;

  // After which a rank that hears nothing has named somebody.
  Duration inquiry() const { return patience * (2 * static_cast<int>(ranks) + 4); }
};

GroupPlan draw_group_plan(std::uint64_t seed);
// One line for people.
std::string describe(const GroupPlan& plan);

struct GroupOperation {
  Demand demand;
  Layout layout;
  std::uint64_t count = 0;
};
// The same for all ranks of a group.
GroupOperation draw_group_operation(const GroupPlan& plan, std::uint64_t group, std::uint32_t number,
                                    std::uint32_t ranks);

}  // namespace thalweg::sim
