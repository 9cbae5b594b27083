#include "exchange/plan/round_costs.h"

#include <algorithm>
#include <cmath>

namespace thalweg {

RoundCosts::Cost RoundCosts::of(const Round& round) {
  Cost cost;
  std::vector<double> loads(topology_.link_count());
  for (const Transfer& transfer : round) {
    topology_.path(layout_.endpoints[transfer.from], layout_.endpoints[transfer.to], path_);
    const double latency = static_cast<double>(topology_.latency_ns(path_)) * 1e-9;
    cost.latency = std::max(cost.latency, latency);
    cost.mean_latency += latency / static_cast<double>(round.size());
    const double handled = messages_of(transfer.bytes) *
                           (path_.size() <= 2 ? handling_.message_seconds : handling_.far_message_seconds);
    for (const LinkIndex link : path_) {
      double& load = loads[topology_.link(link).queue];
      load += transfer.bytes / topology_.link(link).bytes_per_second;
      if (link == path_.front() || link == path_.back()) load += handled;
      cost.load = std::max(cost.load, load);
    }
  }
  return cost;
}

double RoundCosts::messages_of(double bytes) const {
  const double piece = static_cast<double>(layout_.plan.piece_elements * Demand::kElementBytes);
  return piece > 0 ? std::max(1.0, bytes / piece) : 1;
}

double RoundCosts::latency(std::uint32_t from, std::uint32_t to) {
  topology_.path(layout_.endpoints[from], layout_.endpoints[to], path_);
  return static_cast<double>(topology_.latency_ns(path_)) * 1e-9;
}

Round shift(std::uint32_t ranks, std::uint32_t distance, double bytes) {
  Round round;
  for (std::uint32_t rank = 0; rank < ranks; ++rank)
    round.push_back({rank, (rank + distance) % ranks, bytes});
  return round;
}

double pieces_of(const Layout& layout, double elements) {
  const double piece = static_cast<double>(layout.plan.piece_elements);
  return piece > 0 ? std::max(1.0, std::ceil(elements / piece)) : 1.0;
}

}  // namespace thalweg
