#include "exchange/costs/measured_routes.h"

#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "base/hash/hash.h"
#include "exchange/route/route.h"

namespace thalweg {

Result<Plan> measured_plan(std::string_view name, const MeasuredPoint& point) {
  Result<Plan> plan = parse_route(name);
  if (!plan) return plan.status();
  const Route& route = *plan->route;
  if (route.shape == RouteShape::kByTrees)
    return refuse_route(name, "its trees follow cables, which a group does not know");
  if (route.number.where == &Plan::servers)
    return refuse_route(name, "its servers contribute nothing; expected a route that all ranks take part in");
  if (route.in_memory && !point.shares_memory)
    return refuse_route(name, "it goes through memory; expected transport \"shm\"");
  if (route.shape == RouteShape::kByRings) {
    Result<std::vector<Ring>> rings = rings_by_stride(point.ranks, plan->ring_count);
    if (!rings) return rings.status();
    plan->rings = *std::move(rings);
  }
  if (Status status = check_plan(*plan, point.operation, point.ranks); !status.ok()) return status;
  if (channels_of(*plan) > kChosenChannelsMax)
    return refuse_route(name, "it takes " + std::to_string(channels_of(*plan)) +
                                  " channels; expected at most " + std::to_string(kChosenChannelsMax));
  return plan;
}

bool MeasuredRoutes::add(const MeasuredPoint& point, MeasuredWay way) {
  return all_.try_emplace(point, std::move(way)).second;
}

std::uint64_t MeasuredRoutes::digest() const {
  if (empty()) return 0;
  std::string text;
  for (const auto& [point, way] : all_) {
    for (const std::uint64_t number :
         {std::uint64_t{point.shares_memory}, std::uint64_t{point.ranks},
          static_cast<std::uint64_t>(point.operation), point.bytes, std::uint64_t{way.piece_bytes}})
      text += std::to_string(number) + ' ';
    text += way.plan.name() + '\n';
  }
  return std::max<std::uint64_t>(hash64(text.data(), text.size()), 1);
}

std::vector<MeasuredRoutes::Nearest> MeasuredRoutes::of(bool shares_memory, std::uint32_t ranks,
                                                        Operation operation) const {
  std::vector<Nearest> found;
  std::uint64_t before = 0;
  for (auto at = all_.lower_bound({shares_memory, ranks, operation, 0}); at != all_.end(); ++at) {
    const MeasuredPoint& point = at->first;
    if (std::tuple(point.shares_memory, point.ranks, point.operation) !=
        std::tuple(shares_memory, ranks, operation))
      break;
    // Half way, in powers, to the size before.
    if (!found.empty()) {
      found.back().bytes_max = static_cast<std::uint64_t>(std::sqrt(static_cast<double>(before)) *
                                                          std::sqrt(static_cast<double>(point.bytes)));
    }
    found.push_back({std::numeric_limits<std::uint64_t>::max(), &at->second});
    before = point.bytes;
  }
  return found;
}

}  // namespace thalweg
