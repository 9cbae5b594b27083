#include "scheduler/failovers.h"

#include <algorithm>

#include "base/limits.h"

namespace thalweg {

void Failovers::begin(Instant now, std::uint32_t server, Instant heard, std::uint32_t epoch,
                      std::set<std::uint32_t> others) {
  for (Loss& earlier : losses_) {
    if (earlier.awaited.erase(server) == 0) continue;
    earlier.others.erase(server);
    earlier.others.insert(others.begin(), others.end());
    earlier.awaited.insert(others.begin(), others.end());
    earlier.epoch = epoch;
  }
  if (losses_.size() == limits::kNodesMax) losses_.pop_front();
  Loss loss{{server, std::max(now - heard, Duration{}), {}}, now, epoch, others, others};
  if (others.empty()) loss.told.recovered = Duration{};
  losses_.push_back(std::move(loss));
}

std::vector<Failovers::Recovered> Failovers::on_acting(Instant now, std::uint32_t server,
                                                       std::uint32_t epoch) {
  std::vector<Recovered> recovered;
  for (Loss& loss : losses_) {
    if (epoch < loss.epoch || loss.awaited.erase(server) == 0 || !loss.awaited.empty()) continue;
    loss.told.recovered = now - loss.lost;
    recovered.push_back({loss.told.server, *loss.told.recovered, loss.others});
  }
  return recovered;
}

std::vector<ServerFailover> Failovers::told() const {
  std::vector<ServerFailover> told;
  for (const Loss& loss : losses_) told.push_back(loss.told);
  return told;
}

}  // namespace thalweg
