// Lockstep that waits for a while: a consistency for JobOptions.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>

#include "thalweg/options.h"

namespace thalweg {

// Of the bound that says such a limit.
inline constexpr std::chrono::microseconds kWaitUnit{10};
inline constexpr std::chrono::nanoseconds kWaitMost =
    kWaitUnit * std::int64_t{std::numeric_limits<std::uint32_t>::max()};

// A step is closed when all shards have pushed to it, or so long after the first of them has; what comes then
// is dropped, as by backup(). Rounded to the unit, which is the least, and at most kWaitMost, 11.9 hours.
constexpr Consistency max_wait(std::chrono::nanoseconds wait) {
  const std::int64_t units =
      (std::clamp<std::chrono::nanoseconds>(wait, kWaitUnit, kWaitMost) + kWaitUnit / 2) / kWaitUnit;
  return {Consistency::Kind::kMaxWait, static_cast<std::uint32_t>(units)};
}
// None of another consistency.
constexpr std::optional<std::chrono::nanoseconds> wait_limit(const Consistency& consistency) {
  if (consistency.kind != Consistency::Kind::kMaxWait) return std::nullopt;
  return kWaitUnit * std::int64_t{consistency.bound};
}

}  // namespace thalweg
