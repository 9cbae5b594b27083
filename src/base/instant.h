// Time as a value: protocol code is handed `now` and never reads a clock.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>

namespace thalweg {

using Duration = std::chrono::nanoseconds;

// Nanoseconds since a driver's start.
struct Instant {
  std::int64_t ns = 0;
  constexpr auto operator<=>(const Instant&) const = default;
  friend constexpr Instant operator+(Instant t, Duration d) { return {t.ns + d.count()}; }
  friend constexpr Duration operator-(Instant a, Instant b) { return Duration{a.ns - b.ns}; }
};
inline constexpr Instant kNever{INT64_MAX};

}  // namespace thalweg
