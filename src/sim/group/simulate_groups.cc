#include "sim/group/simulate_groups.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "sim/group/group_parts.h"
#include "sim/group/group_rank.h"

namespace thalweg::sim {
namespace {

constexpr std::uint64_t kGroupEventsMax = 3'000'000;

}  // namespace

GroupReport run_group_plan(const GroupPlan& plan, Trace trace) {
  GroupReport report;
  report.seed = plan.seed;
  report.plan = describe(plan);
  if (trace) trace("the plan: " + report.plan);
  GroupWorld world(plan, std::move(trace));
  GroupWatch watch(world);
  GroupRank::All ranks;
  for (std::uint32_t process = 0; process < plan.ranks; ++process)
    ranks.push_back(std::make_unique<GroupRank>(world, watch, ranks, process));
  world.start();
  while (world.step()) {
    if (world.events() <= kGroupEventsMax) continue;
    world.findings().add(Checker::kProgress, fmt::format("no end in sight after {} events", world.events()));
  }
  if (world.findings().none()) watch.end();
  report.violation = world.findings().first();
  report.trace_hash = world.trace_hash();
  report.events = world.events();
  report.virtual_time = world.now() - Instant{};
  report.groups = watch.groups();
  report.operations = watch.operations();
  report.failures = watch.failures();
  return report;
}

GroupReport run_group_seed(std::uint64_t seed, Trace trace) {
  return run_group_plan(draw_group_plan(seed), std::move(trace));
}

Seeds<GroupReport> group_seeds() { return seeds_of(draw_group_plan, run_group_plan); }

}  // namespace thalweg::sim
