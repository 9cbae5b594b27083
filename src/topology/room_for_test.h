// Preset machine rooms that a test knows to exist, and what is so of a path in one.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "topology/presets.h"

namespace thalweg {

inline Topology room_of(const std::string& name, std::uint32_t ranks = 0) {
  auto made = preset(name, ranks);
  EXPECT_TRUE(made.ok()) << made.status().message();
  return *std::move(made);
}

// Bytes a second of its narrowest link.
inline double narrowest(const Topology& room, const std::vector<LinkIndex>& path) {
  double least = std::numeric_limits<double>::infinity();
  for (const LinkIndex link : path) least = std::min(least, room.link(link).bytes_per_second);
  return least;
}

}  // namespace thalweg
