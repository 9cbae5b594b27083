// Whether the scheduler is still there, by the heartbeats that it has not answered. They are counted, not
// timed: a node that was busy or paused itself has sent none.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <string>

#include "base/planted.h"
#include "cluster/pace.h"

namespace thalweg::cluster {

class SchedulerWatch {
 public:
  void sent_heartbeat() { ++unanswered_; }
  void heard() { unanswered_ = 0; }
  // Why the scheduler of this map's job is given up, if it is. Never with a timeout of 0. The newest
  // heartbeat may have been sent just now, whatever the timeout.
  std::optional<std::string> lost(const wire::Map& map) const {
    if (map.timeout == Duration{0} || unanswered_ <= 1 || THALWEG_BUG(kSchedulerTrusted)) return std::nullopt;
    if (unanswered_ * heartbeat_every(map) <= map.timeout) return std::nullopt;
    const double seconds = std::chrono::duration<double>(map.timeout).count();
    return fmt::format("scheduler has answered nothing for {} s", seconds);
  }

 private:
  std::int64_t unanswered_ = 0;
};

}  // namespace thalweg::cluster
