#include "sim/group/group_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string_view>

#include "base/random.h"

namespace thalweg::sim {
namespace {

using namespace std::chrono_literals;

std::uint32_t below32(Random& random, std::uint64_t limit) {
  return static_cast<std::uint32_t>(random.below(limit));
}

GroupFault draw_group_fault(Random& random, const GroupPlan& plan) {
  GroupFault fault;
  const std::uint64_t kind = random.below(10);
  fault.kind = kind < 4   ? GroupFault::Kind::kKill
               : kind < 7 ? GroupFault::Kind::kPause
               : kind < 9 ? GroupFault::Kind::kDisconnect
                          : GroupFault::Kind::kPartition;
  fault.rank = below32(random, plan.ranks);
  fault.other = (fault.rank + 1 + below32(random, plan.ranks - 1)) % plan.ranks;
  fault.at = Instant{} + std::chrono::microseconds(random.below(random.chance(0.2) ? 10'000'000 : 400'000));
  // Short ones, those that end while somebody asks, and those that outlast everything.
  const Duration lengths[] = {plan.timeout / 2, plan.timeout + plan.patience / 2, plan.timeout * 2,
                              plan.timeout * 6 + plan.inquiry() * 4};
  fault.lasts = lengths[random.below(4)];
  return fault;
}

constexpr std::string_view kDrawnRoutes[] = {"star",
                                             "spread",
                                             "chain",
                                             "ring",
                                             "bidirectional-ring",
                                             "rings",
                                             "tree",
                                             "recursive-doubling",
                                             "double-tree",
                                             "halving-doubling",
                                             "binomial-tree",
                                             "hierarchical",
                                             "tree:3",
                                             "servers:1",
                                             "byteps:1"};

// Two, whose product is the number of ranks.
PlanLevels draw_levels(Random& random, std::uint32_t ranks) {
  std::uint32_t inside = 1 + below32(random, ranks);
  while (ranks % inside != 0) --inside;
  return {inside, ranks / inside};
}

constexpr std::string_view name_of(GroupFault::Kind kind) {
  constexpr std::string_view kNames[] = {"killed", "paused", "cut off from", "parted"};
  return kNames[static_cast<std::size_t>(kind)];
}

}  // namespace

GroupPlan draw_group_plan(std::uint64_t seed) {
  Random random = Random(seed).split(20);
  GroupPlan plan;
  plan.seed = seed;
  plan.ranks = 2 + below32(random, random.chance(0.1) ? 11 : 5);
  plan.repeats = random.chance(0.25);
  plan.operations = plan.repeats ? 300 : 1 + below32(random, random.chance(0.3) ? 40 : 12);
  plan.timeout = std::chrono::milliseconds(1000 + random.below(3000));
  plan.patience = std::chrono::milliseconds(200 + random.below(800));
  plan.latency = std::chrono::microseconds(20 + random.below(480));
  plan.jitter = random.chance(0.5) ? plan.latency * static_cast<int>(1 + random.below(4)) : Duration{};
  plan.thinking = std::chrono::microseconds(random.below(60'000));
  plan.room = std::size_t{8192} << random.below(6);
  plan.drops_old = random.chance(0.5);
  const std::uint64_t faults = random.chance(0.15) ? 0 : random.chance(0.6) ? 1 : 2 + random.below(3);
  for (std::uint64_t i = 0; i < faults; ++i) plan.faults.push_back(draw_group_fault(random, plan));
  if (faults > 1 &&
      random.chance(0.4)) {  // One is killed, and another comes when those who remain have gone on.
    GroupFault& first = plan.faults[0];
    GroupFault& second = plan.faults[1];
    first.kind = GroupFault::Kind::kKill;
    second = {GroupFault::Kind::kPause, first.other, 0, first.at, plan.timeout * 2};
    plan.faults.resize(2);
  }
  std::sort(plan.faults.begin(), plan.faults.end(),
            [](const GroupFault& a, const GroupFault& b) { return a.at < b.at; });
  return plan;
}

std::string describe(const GroupPlan& plan) {
  const auto ms = [](Duration time) { return std::chrono::duration<double, std::milli>(time).count(); };
  std::string text = fmt::format(
      "{} ranks, {} operations a group, timeout {:.0f} ms, patience {:.0f} ms, latency {:.2f}+{:.2f} ms, {} "
      "bytes a stream",
      plan.ranks, plan.operations, ms(plan.timeout), ms(plan.patience), ms(plan.latency), ms(plan.jitter),
      plan.room);
  for (const GroupFault& fault : plan.faults) {
    text += fmt::format("; rank {} {}", fault.rank, name_of(fault.kind));
    if (fault.kind == GroupFault::Kind::kDisconnect) text += fmt::format(" rank {}", fault.other);
    text += fmt::format(" at {:.3f} ms", ms(Duration{fault.at.ns}));
    if (fault.kind == GroupFault::Kind::kPause || fault.kind == GroupFault::Kind::kPartition)
      text += fmt::format(" for {:.0f} ms", ms(fault.lasts));
  }
  return text;
}

GroupOperation draw_group_operation(const GroupPlan& whole, std::uint64_t group, std::uint32_t number,
                                    std::uint32_t ranks) {
  Random random = Random(whole.seed).split(21).split(group << 20 | number);
  constexpr std::uint64_t kCounts[] = {1, 17, 300, 5000};
  for (;;) {
    GroupOperation drawn;
    drawn.layout.route = kDrawnRoutes[random.below(std::size(kDrawnRoutes))];
    thalweg::Plan& plan = drawn.layout.plan = *parse_route(drawn.layout.route);
    drawn.demand.operation = static_cast<Operation>(random.below(kOperations));
    drawn.count = std::min(kCounts[random.below(std::size(kCounts))], whole.elements);
    plan.piece_elements = random.chance(0.5) ? 64 : 0;
    if (plan.route == &routes::kRings) {
      auto rings = rings_by_stride(ranks, 0);
      if (!rings) continue;
      plan.rings = *std::move(rings);
    }
    if (plan.route == &routes::kHierarchical) plan.levels = draw_levels(random, ranks);
    if (drawn.demand.operation == Operation::kPointToPoint || plan.servers >= ranks ||
        !check_plan(plan, drawn.demand.operation, ranks).ok())
      continue;
    if (drawn.demand.operation == Operation::kAllToAll)
      drawn.count = (drawn.count + ranks - 1) / ranks * ranks;
    if (drawn.demand.operation == Operation::kBarrier) drawn.count = 1;
    drawn.layout.endpoints.resize(ranks);
    drawn.demand.ranks = drawn.demand.operation == Operation::kAllToAll ? ranks : ranks - plan.servers;
    drawn.demand.root = below32(random, drawn.demand.ranks);
    return drawn;
  }
}

}  // namespace thalweg::sim
