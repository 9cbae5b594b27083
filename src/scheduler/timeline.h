// What has become of a job's nodes, for people: the newest events, in a ring.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/instant.h"
#include "thalweg/job_status.h"
#include "wire/job_status.h"

namespace thalweg {

class Timeline {
 public:
  // Times are told from the first call on.
  Duration age(Instant now) const { return begun_ ? now - *begun_ : Duration{}; }
  void begin(Instant now) {
    if (!begun_) begun_ = now;
  }
  void add(Instant now, JobEvent::Kind kind, NodeId node, std::string cause) {
    begin(now);
    if (events_.size() == wire::kEventsMax) {
      events_.pop_front();
      ++forgotten_;
    }
    cause.resize(std::min(cause.size(), wire::kCauseBytesMax));
    events_.push_back({age(now), kind, node, std::move(cause)});
  }
  std::uint64_t forgotten() const { return forgotten_; }
  std::vector<JobEvent> events() const { return {events_.begin(), events_.end()}; }

 private:
  std::optional<Instant> begun_;
  std::deque<JobEvent> events_;
  std::uint64_t forgotten_ = 0;
};

}  // namespace thalweg
