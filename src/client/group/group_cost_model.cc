#include "client/group/group_cost_model.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "base/check.h"

namespace thalweg {
namespace {

// How many ranks have the same number there.
std::map<std::uint32_t, std::uint32_t> count_by(const std::vector<RankPlace>& places,
                                                std::uint32_t RankPlace::*which) {
  std::map<std::uint32_t, std::uint32_t> counts;
  for (const RankPlace& place : places) ++counts[place.*which];
  return counts;
}

// Ranks that a core has to do for, where it has most.
std::uint32_t ranks_per_core(const RankPlace& place, std::uint32_t ranks) {
  return (ranks + place.cores - 1) / std::max(place.cores, 1U);
}

}  // namespace

GroupCostModel group_cost_model(const std::vector<RankPlace>& places) {
  const auto on_machine = count_by(places, &RankPlace::machine);
  const auto on_memory = count_by(places, &RankPlace::memory);
  Room room;
  room.name = "group";
  std::map<std::uint32_t, NodeIndex> hosts;
  std::uint32_t crowd = 1, sharers = 0;
  for (std::size_t rank = 0; rank < places.size(); ++rank) {
    const RankPlace& place = places[rank];
    const auto number = static_cast<std::uint32_t>(hosts.size());
    const auto [host, is_new] = hosts.try_emplace(place.machine);
    const std::uint32_t at[kLevels] = {is_new ? number : room.nodes[host->second].place[0], kNowhere,
                                       kNowhere};
    if (is_new) host->second = room.add(NodeKind::kHost, "machine" + std::to_string(number), at);
    const bool shares = on_memory.at(place.memory) > 1;
    const TransportCosts& costs = shares ? place.costs.shared_memory : place.costs.loopback;
    const std::uint32_t turns = ranks_per_core(place, on_machine.at(place.machine));
    const double speed = costs.bytes_per_second / turns;
    const auto latency_ns = static_cast<std::uint64_t>(std::llround(costs.latency_seconds * 1e9));
    room.ranks.push_back(room.add(NodeKind::kDevice, "rank" + std::to_string(rank), at));
    room.cables.push_back({room.ranks.back(), host->second, {speed, latency_ns * turns}, {speed, 0}, true});
    crowd = std::max(crowd, turns);
    sharers += shares ? 1 : 0;
  }
  if (hosts.size() > 1) {
    const NodeIndex between = room.add(NodeKind::kSwitch, "network", {kNowhere, kNowhere, kNowhere});
    for (const auto& [machine, host] : hosts)
      room.connect(host, between, {kNetworkBytesPerSecond, kNetworkLatencyNs / 2});
  }
  const bool all_share = on_memory.size() == 1 && sharers > 0;
  auto topology = Topology::make(std::move(room));
  THALWEG_CHECK(topology.ok(), "machines around a switch are one network");
  const MachineCosts& costs = places.front().costs;  // One for all, as the formulas have it.
  const double near = (sharers > 0 ? costs.shared_memory : costs.loopback).message_seconds;
  return {*std::move(topology),
          {near * crowd, costs.loopback.message_seconds * crowd, costs.add_seconds_per_byte * crowd,
           costs.fetch_seconds_per_byte * crowd, costs.cache_bytes},
          all_share ? kSharedMemoryPieceBytes : kLoopbackPieceBytes};
}

PlanLevels machine_levels(const std::vector<RankPlace>& places) {
  std::vector<std::uint32_t> sizes;
  for (std::uint32_t rank = 0; rank < places.size(); ++rank) {
    const bool begins = places[rank].machine == rank;  // Machines go by their first rank.
    if (!begins && places[rank].machine != places[rank - 1].machine) return {};
    if (begins) sizes.push_back(0);
    ++sizes.back();
  }
  const auto machines = static_cast<std::uint32_t>(sizes.size());
  if (machines == 1) return {sizes[0]};
  return {PlanLevel::of(std::move(sizes)), machines};
}

}  // namespace thalweg
