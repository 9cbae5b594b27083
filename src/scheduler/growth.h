// Servers that come to a job which runs, and what each of them is to get: units of key ranges, as their owner
// or as one that keeps a copy.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "base/instant.h"
#include "base/range.h"

namespace thalweg {

// Of one unit: `server` is to be in its chain, and where it is to own it before all others.
struct Goal {
  std::size_t table = 0;
  RangeSpan unit;
  std::uint32_t server = 0;
  bool owns = false;
};

struct Growth {
  struct Newcomer {
    std::uint32_t server = 0;
    Instant at;
  };
  std::deque<Newcomer> waiting;  // For those before them to have their part, or for one that leaves.
  std::optional<Newcomer> now;   // Who gets its part, by the goals,
  std::vector<Goal> goals;       // which are forgotten once they are reached.

  const Goal* find(std::size_t table, RangeSpan unit) const {
    for (const Goal& goal : goals) {
      if (goal.table == table && goal.unit.begin == unit.begin) return &goal;
    }
    return nullptr;
  }
  bool concerns(std::uint32_t server) const {
    const auto is_it = [&](const Newcomer& one) { return one.server == server; };
    return (now && is_it(*now)) || std::ranges::any_of(waiting, is_it);
  }
};

}  // namespace thalweg
