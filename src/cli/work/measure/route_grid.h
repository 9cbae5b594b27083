// Times all routes of every operation that has some, at many sizes, by shared memory and by TCP.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "cli/work/measure/route_meter.h"
#include "exchange/costs/measured_routes.h"
#include "thalweg/status.h"

namespace thalweg {

struct RouteGrid {
  static constexpr std::uint64_t kBytesMin = 256, kBytesMax = std::uint64_t{16} << 20;  // By factors of 4.
  std::vector<std::uint32_t> ranks;
  std::chrono::nanoseconds limit{};  // All of it takes no longer, but for a route's turn.
  bool in_group_memory = false;      // Where vectors are; else in memory as programs have it.
  std::size_t points() const;
};

// `tell` hears of each point that was measured, with its routes, the fastest first.
Status measure_routes(
    const RouteGrid& grid,
    const std::function<void(const MeasuredPoint& point, const std::vector<TimedRoute>& routes)>& tell);

}  // namespace thalweg
