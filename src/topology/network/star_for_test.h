// A network small enough to know every moment of.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "topology/network/network.h"

namespace thalweg {

inline constexpr std::uint32_t kNoPlaceForTest[kLevels] = {kNowhere, kNowhere, kNowhere};
inline constexpr Picoseconds kMs = 1'000'000'000;

// Machines on an ideal switch: 1 MB takes 1 ms on each of the two links, the first of which adds 2 us.
inline Topology star(std::uint32_t ranks) {
  Room room;
  const NodeIndex hub = room.add(NodeKind::kSwitch, "hub", kNoPlaceForTest);
  for (std::uint32_t i = 0; i < ranks; ++i) {
    room.ranks.push_back(room.add(NodeKind::kDevice, fmt::format("n{}", i), kNoPlaceForTest));
    room.cables.push_back({room.ranks.back(), hub, {1e9, 2000}, {1e9, 0}});
  }
  auto made = Topology::make(std::move(room));
  EXPECT_TRUE(made.ok()) << made.status().message();
  return *std::move(made);
}

struct Seen {
  Network::Flow flow;
  Picoseconds at;
  bool operator==(const Seen&) const = default;
};
inline std::vector<Seen> drain(Network& network) {
  std::vector<Seen> seen;
  Network::Arrival arrival;
  while (network.next(arrival)) seen.push_back({arrival.flow, network.now()});
  return seen;
}

}  // namespace thalweg
