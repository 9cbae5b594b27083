#include "exchange/plan/cost.h"

#include "base/check.h"
#include "exchange/plan/round_costs.h"
#include "exchange/route/route.h"

namespace thalweg {
namespace {

// Bytes that the rank which adds most adds to others. Trees: their heaviest node's.
double added_bytes(const Demand& demand, const Layout& layout) {
  const Route& route = *layout.plan.route;
  if (route.added_bytes) return route.added_bytes(demand, layout);
  const double n = demand.ranks;
  return static_cast<double>(demand.bytes) * (n - 1) / n;
}

// Bytes that a rank sends of blocks which it has not just received.
double fetched_bytes(const Demand& demand, const Layout& layout, double cache_bytes) {
  const Route& route = *layout.plan.route;
  if (route.fetched_bytes) return route.fetched_bytes(demand, layout, cache_bytes);
  return bytes_beyond(cache_bytes, static_cast<double>(demand.bytes));
}

bool is_half(Operation operation) {
  return operation == Operation::kReduce || operation == Operation::kBroadcast ||
         operation == Operation::kReduceScatter || operation == Operation::kAllGather ||
         operation == Operation::kGather || operation == Operation::kScatter;
}

}  // namespace

double bytes_beyond(double cache_bytes, double block) { return block > cache_bytes ? block : 0; }

double predicted_seconds(const Topology& topology, const Demand& demand, const Layout& layout,
                         const Handling& handling) {
  if (demand.ranks <= 1) return 0;
  THALWEG_CHECK(layout.plan.route->seconds, "a route that crosses a network");
  RoundCosts costs(topology, layout, handling);
  const double moving = layout.plan.route->seconds(costs, demand, layout) +
                        handling.fetch_seconds_per_byte * fetched_bytes(demand, layout, handling.cache_bytes);
  return (is_half(demand.operation) ? 0.5 : 1) * moving +
         (combines(demand.operation) ? handling.add_seconds_per_byte * added_bytes(demand, layout) : 0);
}

double predicted_messages(const Demand& demand, const Layout& layout) {
  const Route& route = *layout.plan.route;
  const std::uint32_t channels = layout.plan.channels;
  Demand part = demand;
  part.bytes = (demand.bytes + channels - 1) / channels;
  const double messages = route.messages
                              ? route.messages(part, layout)
                              : 2.0 * layout.size() * pieces_of(layout, static_cast<double>(part.elements()));
  return (is_half(demand.operation) ? 0.5 : 1) * channels * messages;
}

}  // namespace thalweg
