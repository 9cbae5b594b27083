// Times every route of one operation at one size among ranks of this machine, whole and in pieces as groups
// cut it; routes that are the same exchange there once.
#pragma once

#include <chrono>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "exchange/costs/measured_routes.h"
#include "thalweg/group.h"

namespace thalweg {

struct TimedRoute {
  std::string name;
  std::vector<std::string> other_names;                      // Of the same exchange.
  std::size_t piece_bytes = 0;                               // 0: whole.
  double seconds = std::numeric_limits<double>::infinity();  // Of one call, in the fastest run.
};

struct TimingEffort {
  using Clock = std::chrono::steady_clock;
  int runs = 5;
  bool drops_slow = false;  // What is far behind the fastest is not run again.
  Clock::time_point enough =
      Clock::time_point::max();                      // Then the first run is completed, and no other begins.
  Clock::time_point end = Clock::time_point::max();  // Then it stops; before the first run's end for nothing.
};

// Bytes of memory that vectors of this size need.
std::size_t route_memory_bytes(std::uint64_t bytes, std::uint32_t ranks);
// All ranks call it, with so much memory, and get the same, the fastest first; nothing where the end came
// early, by rank 0's clock. The runs of all routes take turns, so that what else the machine does falls on
// all of them alike.
Result<std::vector<TimedRoute>> time_routes(Group& group, const MeasuredPoint& point,
                                            const TimingEffort& effort, std::byte* memory);

}  // namespace thalweg
