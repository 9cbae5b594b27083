// Whether the scheduler is still there, by the heartbeats that it has not answered. They are counted, not
// timed: a node that was busy or paused itself has sent none.
#pragma once

#include <cstdint>

#include "base/limits.h"

namespace thalweg::wire {

class SchedulerWatch {
 public:
  void sent_heartbeat() { ++unanswered_; }
  void heard() { unanswered_ = 0; }
  // The newest heartbeat may have been sent just now, whatever the timeout.
  bool lost(Duration timeout) const {
    return unanswered_ > 1 && unanswered_ * limits::kHeartbeatEvery > timeout;
  }

 private:
  std::int64_t unanswered_ = 0;
};

}  // namespace thalweg::wire
