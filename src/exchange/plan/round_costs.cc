#include "exchange/plan/round_costs.h"

#include <algorithm>
#include <cmath>

namespace thalweg {

RoundCosts::RoundCosts(const Topology& topology, const Layout& layout, const Handling& handling)
    : topology_(topology), layout_(layout), handling_(handling), loads_(topology.link_count()) {}

RoundCosts::Cost RoundCosts::of(const Round& round) {
  Cost cost;
  double latencies = 0;
  for (const Transfer& transfer : round) {
    topology_.path(layout_.endpoints[transfer.from], layout_.endpoints[transfer.to], path_);
    const double handled = messages_of(transfer.bytes) *
                           (path_.size() <= 2 ? handling_.message_seconds : handling_.far_message_seconds);
    std::uint64_t latency_ns = 0;
    for (const LinkIndex index : path_) {
      const DirectedLink& link = topology_.link(index);
      latency_ns += link.latency_ns;
      double& load = loads_[link.queue];
      if (load == 0) loaded_.push_back(link.queue);
      load += transfer.bytes / link.bytes_per_second;
      if (index == path_.front() || index == path_.back()) load += handled;
      cost.load = std::max(cost.load, load);
    }
    const double latency = static_cast<double>(latency_ns) * 1e-9;
    cost.latency = std::max(cost.latency, latency);
    latencies += latency;
  }
  if (!round.empty()) cost.mean_latency = latencies / static_cast<double>(round.size());
  for (const LinkIndex queue : loaded_) loads_[queue] = 0;
  loaded_.clear();
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
