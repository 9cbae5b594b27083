// Runs of plans, for those who do not look at the nodes.
#pragma once

#include <cstdint>

#include "sim/cluster/plan.h"
#include "sim/report.h"
#include "sim/shrink/seeds.h"

namespace thalweg::sim {

Report run_plan(const Plan& plan, Trace trace = nullptr);
// After `first`, of the same plan. What that has ended with was compared with what it was to be, and is so
// again only where this run ends with something else.
Report run_plan_again(const Plan& plan, const RunReport& first);
// Of a seed. Precondition: `servers` is not kRestarted, whose runs are of several plans.
Plan plan_of(std::uint64_t seed, Servers servers);
Seeds<Report> cluster_seeds(Servers servers);

}  // namespace thalweg::sim
