// Deadlines as Python says them.
#pragma once

#include <fmt/format.h>

#include <chrono>
#include <cstdint>

#include "errors.h"

namespace thalweg::python {

// Up to ten years, which fit. Throws kUsage for what is no time.
inline std::chrono::nanoseconds nanoseconds_of(double seconds, const char* name = "timeout") {
  constexpr double kMost = 3.2e8;
  if (seconds >= 0 && seconds < kMost)
    return std::chrono::nanoseconds(static_cast<std::int64_t>(seconds * 1e9));
  raise({Code::kUsage, fmt::format("{} {}: expected seconds, from 0 to {}", name, seconds, kMost)});
}

}  // namespace thalweg::python
