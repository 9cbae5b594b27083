// Servers that come while a job runs, at random moments, and of which some die.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/random.h"
#include "sim/cluster/cluster.h"
#include "sim/faults.h"
#include "sim/report.h"

namespace thalweg::sim {

class Joins {
 public:
  // All outlive this.
  Joins(const Plan& plan, Cluster& cluster, Faults& faults);
  // Sets the first.
  void start();
  JoinCounts counts() const;
  // At the end: empty, or which server that came late has too little.
  std::string check_shares() const;

 private:
  void next();
  void join();
  void expect_part(Instant asked);
  bool over() const { return cluster_.gone() || cluster_.scheduler().stopped().has_value(); }

  const Plan& plan_;
  Cluster& cluster_;
  Faults& faults_;
  Random random_;
  std::uint32_t left_ = 0;
  std::vector<std::uint32_t> started_;  // Processes.
  std::uint64_t deaths_ = 0;
};

}  // namespace thalweg::sim
