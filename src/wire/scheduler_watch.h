// Whether the scheduler is still there, by the heartbeats that it has not answered. They are counted, not
// timed: a node that was busy or paused itself has sent none.
#pragma once

#include <cstdint>

#include "wire/pace.h"

namespace thalweg::wire {

class SchedulerWatch {
 public:
  void sent_heartbeat() { ++unanswered_; }
  void heard() { unanswered_ = 0; }
  // The newest heartbeat may have been sent just now, whatever the timeout. Never before the first map.
  bool lost(const Map& map) const {
    return map.epoch != 0 && unanswered_ > 1 && unanswered_ * heartbeat_every(map) > map.timeout;
  }

 private:
  std::int64_t unanswered_ = 0;
};

}  // namespace thalweg::wire
