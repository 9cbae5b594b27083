// Servers that are asked to leave while a job runs, at random moments.
#pragma once

#include <cstdint>

#include "base/random.h"
#include "sim/cluster/cluster.h"
#include "sim/report.h"

namespace thalweg::sim {

class Drains {
 public:
  // `plan` and `cluster` outlive this.
  Drains(const Plan& plan, Cluster& cluster);
  // Sets the first.
  void start();
  const DrainCounts& counts() const { return counts_; }

 private:
  struct Asked {
    std::uint32_t server = 0;
    std::uint32_t request = 0;
    Instant at{0};
    bool answered = false;
  };
  void next();
  void ask(Asked asked);
  void on_answer(Asked asked, const Frame& answer);
  bool over() const { return cluster_.gone() || cluster_.scheduler().stopped().has_value(); }

  const Plan& plan_;
  Cluster& cluster_;
  Random random_;
  std::uint32_t left_ = 0;
  std::uint32_t requests_ = 0;
  DrainCounts counts_;
};

}  // namespace thalweg::sim
