// Key ranges that change their owners while a job runs, at random moments, and are on their way for a while:
// what will travel as frames is carried by hand here, at any pace and in any order.
#pragma once

#include <cstdint>

#include "base/random.h"
#include "sim/cluster/cluster.h"
#include "sim/report.h"

namespace thalweg::sim {

class Moves {
 public:
  // `plan` and `cluster` outlive this.
  Moves(const Plan& plan, Cluster& cluster);
  // Sets the first move.
  void start();
  const MoveCounts& counts() const { return counts_; }

 private:
  void next();
  void move();
  void carry();
  void count(const RangeState& state);

  const Plan& plan_;
  Cluster& cluster_;
  Random random_;
  std::uint32_t left_;
  bool carrying_ = false;
  MoveCounts counts_;
};

}  // namespace thalweg::sim
