// One seed: a random group works while random things go wrong with its ranks and connections; then everything
// is checked.
#pragma once

#include <cstdint>

#include "sim/report.h"
#include "sim/shrink/seeds.h"

namespace thalweg::sim {

struct GroupPlan;

struct GroupReport : RunReport {
  std::uint64_t groups = 0;      // That formed, the first one included.
  std::uint64_t operations = 0;  // That ended well, at one rank each.
  std::uint64_t failures = 0;    // The same of those that did not.
};

// Same seed, same report.
GroupReport run_group_seed(std::uint64_t seed, Trace trace = nullptr);
GroupReport run_group_plan(const GroupPlan& plan, Trace trace = nullptr);
Seeds<GroupReport> group_seeds();

}  // namespace thalweg::sim
