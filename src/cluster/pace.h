// How often nodes speak. Where a job's timeout is short, or a silent node is soon taken for lost, they speak
// more often, so that every wait passes over several words before it gives somebody up.
#pragma once

#include <algorithm>

#include "base/limits.h"
#include "wire/messages.h"

namespace thalweg::cluster {

// Of a node whose newest map this is. Before the first one the timeout is not known.
inline Duration heartbeat_every(const wire::Map& map) {
  constexpr Duration kLeast = std::chrono::milliseconds(5);
  if (map.epoch == 0) return limits::kHeartbeatEvery;
  const Duration by_silence = map.silence > Duration{0} ? map.silence / 5 * 2 : limits::kHeartbeatEvery;
  return std::clamp<Duration>(std::min<Duration>(map.timeout / 8, by_silence), kLeast,
                              limits::kHeartbeatEvery);
}

// The longest time between two sends of a request that stays unanswered.
inline Duration retry_max(const wire::Map& map) {
  return std::min<Duration>(map.timeout / 4, limits::kRetryMax);
}

}  // namespace thalweg::cluster
