// A server that leaves a job which goes on without it: who has asked for that, and what has come of it.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "base/instant.h"
#include "base/range_set.h"
#include "thalweg/ids.h"
#include "thalweg/status.h"

namespace thalweg {

struct Drain {
  enum class Phase : std::uint8_t {
    kCopying,  // Others get what it has, behind it in its chains.
    kTold,     // It is in no chain any more, and has been told to end.
    kLeft,
    kFailed,  // It stays, or was lost.
  };
  NodeId asker;
  std::uint32_t request = 0;  // The asker's number of this question.
  Instant begun, ended;
  std::uint32_t ranges = 0;  // That it had.
  std::uint32_t copied = 0;
  std::vector<RangeSet> uncopied;  // By table: of these ranges those that nobody has got since.
  std::set<std::uint32_t> to;      // Who has got any.
  Phase phase = Phase::kCopying;
  Status why;  // Failed.
};

}  // namespace thalweg
