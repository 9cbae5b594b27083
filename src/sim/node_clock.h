// A node's own clock: it began at some other moment than the simulated world and runs at a rate of its own.
#pragma once

#include <cstdint>

#include "base/instant.h"

namespace thalweg::sim {

class NodeClock {
 public:
  NodeClock() = default;
  // `rate`: seconds of this clock in one of the world's.
  NodeClock(Duration begin, double rate)
      : begin_(begin), rate_(static_cast<std::int64_t>(rate * static_cast<double>(kOne))) {}

  Instant local(Instant world) const { return Instant{begin_.count() + scaled(world.ns)}; }
  // How long the world's `duration` is here, rounded down.
  Duration local(Duration world) const { return Duration{scaled(world.count())}; }
  // The first moment of the world at which this clock shows `local` or more.
  Instant world(Instant local) const {
    if (local == kNever) return kNever;
    const std::int64_t since = local.ns - begin_.count();
    if (rate_ == kOne || since <= 0) return Instant{since};
    return Instant{static_cast<std::int64_t>((Wide{since} * kOne + rate_ - 1) / rate_)};
  }

 private:
  __extension__ using Wide = __int128;
  static constexpr std::int64_t kOne = std::int64_t{1} << 20;
  std::int64_t scaled(std::int64_t ns) const {
    return rate_ == kOne ? ns : static_cast<std::int64_t>((Wide{ns} * rate_) >> 20);
  }

  Duration begin_{};
  std::int64_t rate_ = kOne;
};

}  // namespace thalweg::sim
