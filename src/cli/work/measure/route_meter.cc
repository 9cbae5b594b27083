#include "cli/work/measure/route_meter.h"

#include <algorithm>
#include <utility>

#include "cli/work/exchange_meter.h"
#include "exchange/costs/piece_bytes.h"
#include "exchange/plan/plan.h"
#include "exchange/plan/plan_steps.h"
#include "exchange/route/route.h"

namespace thalweg {
namespace {

struct Candidate {
  TimedRoute timed;
  RouteChoice route;
};

std::uint64_t elements_of(const MeasuredPoint& point) {
  return std::max<std::uint64_t>(point.bytes / sizeof(float) / point.ranks, 1) * point.ranks;
}

std::vector<std::string> names_of(std::uint32_t ranks) {
  std::vector<std::string> names;
  for (const Route* route : routes::all()) {
    if (route->shape != RouteShape::kByLevels) names.emplace_back(route->name);
  }
  for (std::uint32_t each = 2; each < ranks; ++each) {
    if (ranks % each != 0) continue;
    const std::string inner = std::to_string(each), outer = std::to_string(ranks / each);
    names.push_back("hierarchical:" + inner + "x" + outer);
    names.push_back("hierarchical:" + inner + "tx" + outer + "d");
  }
  return names;
}

struct Distinct {
  std::vector<std::vector<LaneSteps>> steps;
  std::size_t candidate = 0;
};

// The one before that is the same exchange; else it is kept as another one, the `next`.
const Distinct* same_before(std::vector<Distinct>& distinct, const Plan& plan, const MeasuredPoint& point,
                            std::size_t next) {
  if (plan.route->in_memory) return nullptr;
  auto steps = steps_of(plan, point.operation, elements_of(point), point.ranks);
  const auto found = std::ranges::find(distinct, steps, &Distinct::steps);
  if (found != distinct.end()) return &*found;
  distinct.push_back({std::move(steps), next});
  return nullptr;
}

std::vector<Candidate> candidates_of(const MeasuredPoint& point) {
  std::vector<Candidate> made;
  std::vector<Distinct> distinct;
  for (const std::string& name : names_of(point.ranks)) {
    Result<Plan> plan = measured_plan(name, point);
    if (!plan) continue;  // No route of this operation.
    for (const std::size_t piece :
         {std::size_t{0}, point.shares_memory ? kSharedMemoryPieceBytes : kLoopbackPieceBytes}) {
      if (piece >= point.bytes) continue;
      auto route = RouteChoice::named(name, {piece, 1});
      if (!route) continue;
      plan->piece_elements = piece / sizeof(float);
      const Distinct* const same = same_before(distinct, *plan, point, made.size());
      if (same == nullptr) {
        made.push_back({{plan->name(), {}, piece}, *std::move(route)});
      } else if (TimedRoute& known = made[same->candidate].timed; known.name != plan->name()) {
        known.other_names.push_back(plan->name());
      }
    }
  }
  return made;
}

// How many times the fastest one's time is too long to try again, after so many runs.
double too_slow_after(int runs) { return runs < 3 ? 3 : 1.5; }

void drop_slow(std::vector<Candidate>& candidates, int runs) {
  const auto by_time = [](const Candidate& a, const Candidate& b) {
    return a.timed.seconds < b.timed.seconds;
  };
  const double best = std::ranges::min_element(candidates, by_time)->timed.seconds;
  std::erase_if(candidates,
                [&](const Candidate& each) { return each.timed.seconds > too_slow_after(runs) * best; });
}

// What rank 0 says.
Result<bool> agree(Group& group, bool answer) {
  std::uint32_t said = answer ? 1 : 0;
  if (Status status = group.broadcast(std::span(&said, 1), 0); !status.ok()) return status;
  return said == 1;
}

}  // namespace

std::size_t route_memory_bytes(std::uint64_t bytes, std::uint32_t ranks) {
  return 2 * (static_cast<std::size_t>(bytes) + sizeof(float) * ranks);
}

Result<std::vector<TimedRoute>> time_routes(Group& group, const MeasuredPoint& point,
                                            const TimingEffort& effort, std::byte* memory) {
  ExchangeTask task;
  task.operation = point.operation;
  task.count = elements_of(point);
  task.iterations =
      static_cast<std::uint32_t>(std::clamp<std::uint64_t>((std::uint64_t{8} << 20) / point.bytes, 2, 200));
  task.checks = false;
  std::vector<Candidate> candidates = candidates_of(point);
  std::vector<TimedRoute> timed;
  for (int run = 0; run < effort.runs; ++run) {
    const Result<bool> begins = agree(group, run == 0 || TimingEffort::Clock::now() < effort.enough);
    if (!begins) return begins.status();
    if (!*begins) break;
    for (Candidate& each : candidates) {
      task.route = each.route;
      const auto timing = measure(group, task, memory);
      if (!timing) return timing.status();
      each.timed.seconds = std::min(each.timed.seconds, timing->seconds);
      const Result<bool> goes_on = agree(group, TimingEffort::Clock::now() < effort.end);
      if (!goes_on) return goes_on.status();
      if (!*goes_on && run == 0) return timed;
      if (!*goes_on) break;
    }
    if (effort.drops_slow) drop_slow(candidates, run + 1);
  }
  for (Candidate& each : candidates) timed.push_back(std::move(each.timed));
  std::ranges::sort(timed, {}, &TimedRoute::seconds);
  return timed;
}

}  // namespace thalweg
