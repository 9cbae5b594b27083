// Levels for a hierarchical route that nobody named.
#pragma once

#include <string>
#include <vector>

#include "exchange/plan/cost.h"
#include "exchange/plan/layout.h"

namespace thalweg {

// With more ranks, all ways to split them take too long to price.
inline constexpr std::uint32_t kSplitRanksMax = 4096;

// With more, only some levels are tried by all ways.
inline constexpr std::uint32_t kAllWaysRanksMax = 64;

// The `count` fastest ways by formula, whole and in one channel, to split `demand.ranks` into two levels or
// more, and of each level: "hierarchical:4tx2x2d". None for operations that take no such route.
std::vector<std::string> fastest_hierarchies(const Topology& topology, const Demand& demand,
                                             std::size_t count, const Handling& handling = {});

}  // namespace thalweg
