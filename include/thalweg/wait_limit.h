// Lockstep that waits for a while: a consistency for JobOptions.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>

#include "thalweg/options.h"

namespace thalweg {

// Such a limit travels as a bound of backup() that no number of shards reaches, in these units.
inline constexpr std::chrono::microseconds kWaitUnit{10};
inline constexpr std::uint32_t kWaitsFrom = 65536;
inline constexpr std::chrono::nanoseconds kWaitMost =
    kWaitUnit * (std::int64_t{std::numeric_limits<std::uint32_t>::max()} - kWaitsFrom);

// A step is closed when all shards have pushed to it, or so long after the first of them has; what comes then
// is dropped, as by backup(). Rounded to the unit, which is the least, and at most kWaitMost, 11.9 hours.
constexpr Consistency max_wait(std::chrono::nanoseconds wait) {
  const std::int64_t units =
      (std::clamp<std::chrono::nanoseconds>(wait, kWaitUnit, kWaitMost) + kWaitUnit / 2) / kWaitUnit;
  return {Consistency::Kind::kBackup, static_cast<std::uint32_t>(kWaitsFrom + units)};
}
// None of another consistency.
constexpr std::optional<std::chrono::nanoseconds> wait_limit(const Consistency& consistency) {
  if (consistency.kind != Consistency::Kind::kBackup || consistency.bound < kWaitsFrom) return std::nullopt;
  return kWaitUnit * std::int64_t{consistency.bound - kWaitsFrom};
}

}  // namespace thalweg
