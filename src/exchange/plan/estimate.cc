#include "exchange/plan/estimate.h"

#include <algorithm>
#include <cmath>

#include "exchange/plan/simulate_exchange.h"
#include "exchange/plan/simulated_group.h"
#include "exchange/route/route.h"

namespace thalweg {
namespace {

double messages_in_pieces_of(const Demand& demand, Layout layout, std::uint64_t elements) {
  layout.plan.piece_elements = elements;
  return predicted_messages(demand, layout);
}

// In how many pieces a block travels, as a mean where blocks differ.
double pieces_of_a_block(const Demand& demand, const Layout& layout) {
  if (layout.plan.piece_elements == 0 || demand.operation == Operation::kBarrier) return 1;
  const double elements = messages_in_pieces_of(demand, layout, 1) / messages_in_pieces_of(demand, layout, 0);
  return std::max(1.0, elements / static_cast<double>(layout.plan.piece_elements));
}

// Ranks that a piece passes one after another, each with a window of its own to fill.
double depth(const Demand& demand, const Layout& layout) {
  if (layout.plan.route == &routes::kChain) return layout.size();
  const double blocks = messages_in_pieces_of(demand, layout, 0) / layout.plan.channels;
  return blocks <= 2.0 * layout.size() ? std::ceil(std::log2(layout.size())) : 1;
}

// Pieces that are on their way at once between the ranks that are farthest apart, there and back, or in a
// window.
double pieces_under_way(const Topology& topology, const Layout& layout) {
  std::vector<LinkIndex> path;
  double most = SimulatedGroup::kWindowBytes;
  const std::size_t last = layout.endpoints.size() - 1;
  for (const std::size_t to : {last, last / 2, std::size_t{1}}) {
    if (to == 0 || to > last) continue;
    topology.path(layout.endpoints[0], layout.endpoints[to], path);
    double slowest = std::numeric_limits<double>::infinity();
    for (const LinkIndex link : path) slowest = std::min(slowest, topology.link(link).bytes_per_second);
    most = std::max(most, 2e-9 * static_cast<double>(topology.latency_ns(path)) * slowest);
  }
  return most / static_cast<double>(layout.plan.piece_elements * Demand::kElementBytes);
}

struct Shortening {
  double pieces = 1, shorter = kPiecesShort, longer = kPiecesLong;  // Of a block.
  bool pays() const { return pieces > shorter + longer + kPiecesShort; }
};

Shortening shortening_of(const Topology& topology, const Demand& demand, const Layout& layout) {
  Shortening made;
  made.pieces = pieces_of_a_block(demand, layout);
  if (!made.pays()) return made;
  const double filled = depth(demand, layout) * std::ceil(pieces_under_way(topology, layout));
  made.shorter += filled;
  made.longer += filled;
  return made;
}

// With so many pieces a block, of which the last is as long as before.
Demand shortened(const Demand& demand, const Layout& layout, double pieces, double to) {
  const double elements = static_cast<double>(demand.elements());
  const double less = (std::ceil(pieces) - to) * elements / pieces;
  // Blocks are rounded up: one element less in each spares a piece for what is left over.
  const double rounded = layout.size() * layout.plan.channels;
  Demand shorter = demand;
  shorter.bytes = static_cast<std::uint64_t>(elements - less - rounded) * Demand::kElementBytes;
  return shorter;
}

Result<double> simulated_seconds(const Topology& topology, const Demand& demand, const Layout& layout,
                                 const EstimateOptions& options) {
  const auto result = simulate_exchange(
      topology, demand, layout,
      {.give_up_after = options.give_up_after, .handling = options.handling, .memory = options.memory});
  if (!result.ok()) return result.status();
  if (options.worked) {
    const double events = kMessagesPerEvent * static_cast<double>(result->events);
    *options.worked +=
        std::max(static_cast<double>(result->messages), events) + kMessagesPerRank * layout.size();
  }
  return result->given_up ? std::numeric_limits<double>::infinity() : result->seconds;
}

}  // namespace

double estimated_messages(const Topology& topology, const Demand& demand, const Layout& layout) {
  const Shortening cut = shortening_of(topology, demand, layout);
  if (!cut.pays()) return predicted_messages(demand, layout);
  return predicted_messages(shortened(demand, layout, cut.pieces, cut.shorter), layout) +
         predicted_messages(shortened(demand, layout, cut.pieces, cut.longer), layout);
}

double simulation_work(const Topology& topology, const Demand& demand, const Layout& layout) {
  const double runs = shortening_of(topology, demand, layout).pays() ? 2 : 1;
  return estimated_messages(topology, demand, layout) + runs * kMessagesPerRank * layout.size();
}

Result<double> estimated_seconds(const Topology& topology, const Demand& demand, const Layout& layout,
                                 const EstimateOptions& options) {
  const Shortening cut = shortening_of(topology, demand, layout);
  if (!cut.pays()) return simulated_seconds(topology, demand, layout, options);
  const auto shorter =
      simulated_seconds(topology, shortened(demand, layout, cut.pieces, cut.shorter), layout, options);
  if (!shorter.ok() || std::isinf(*shorter)) return shorter;
  const auto longer =
      simulated_seconds(topology, shortened(demand, layout, cut.pieces, cut.longer), layout, options);
  if (!longer.ok() || std::isinf(*longer)) return longer;
  const double each = (*longer - *shorter) / (cut.longer - cut.shorter);
  return *longer + each * (std::ceil(cut.pieces) - cut.longer);
}

}  // namespace thalweg
