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

namespace {

void put_numbers(Writer& to, const std::set<std::uint32_t>& numbers) {
  to.put(static_cast<std::uint32_t>(numbers.size()));
  for (const std::uint32_t number : numbers) to.put(number);
}

std::set<std::uint32_t> get_numbers(Reader& from) {
  std::set<std::uint32_t> numbers;
  for (std::uint32_t left = from.get_count(limits::kNodesMax, 4); left > 0; --left)
    numbers.insert(from.get<std::uint32_t>());
  return numbers;
}

}  // namespace

void Failovers::put(Writer& to) const {
  to.put(static_cast<std::uint32_t>(losses_.size()));
  for (const Loss& loss : losses_) {
    const std::int64_t recovered = loss.told.recovered ? loss.told.recovered->count() : -1;
    to.put(loss.told.server).put(std::int64_t{loss.told.detected.count()}).put(recovered).put(loss.epoch);
    put_numbers(to, loss.others);
    put_numbers(to, loss.awaited);
  }
}

Failovers Failovers::get(Instant now, Reader& from) {
  Failovers failovers;
  constexpr std::size_t kLossBytes = 32;
  for (std::uint32_t left = from.get_count(limits::kNodesMax, kLossBytes); left > 0; --left) {
    Loss loss;
    loss.told.server = from.get<std::uint32_t>();
    loss.told.detected = Duration{from.get<std::int64_t>()};
    if (const auto recovered = from.get<std::int64_t>(); recovered >= 0)
      loss.told.recovered = Duration{recovered};
    loss.lost = now;
    loss.epoch = from.get<std::uint32_t>();
    loss.others = get_numbers(from);
    loss.awaited = get_numbers(from);
    failovers.losses_.push_back(std::move(loss));
  }
  return failovers;
}

std::vector<ServerFailover> Failovers::told() const {
  std::vector<ServerFailover> told;
  for (const Loss& loss : losses_) told.push_back(loss.told);
  return told;
}

}  // namespace thalweg
