// A scheduler whose state is kept is killed at random moments while its job runs, and another one comes.
#pragma once

#include <cstdint>

#include "base/random.h"
#include "sim/cluster/cluster.h"
#include "sim/report.h"

namespace thalweg::sim {

class SchedulerRestarts {
 public:
  // All outlive this.
  SchedulerRestarts(const Plan& plan, Cluster& cluster);
  // Sets the first.
  void start();
  const RestartCounts& counts() const { return counts_; }

 private:
  void next();
  void wait_for_news(Instant until);
  void kill();

  const Plan& plan_;
  Cluster& cluster_;
  Random random_;
  std::uint32_t left_ = 0;
  RestartCounts counts_;
};

}  // namespace thalweg::sim
