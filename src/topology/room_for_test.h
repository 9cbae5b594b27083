// A preset machine room that a test knows to exist.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>

#include "topology/presets.h"

namespace thalweg {

inline Topology room_of(const std::string& name, std::uint32_t ranks = 0) {
  auto made = preset(name, ranks);
  EXPECT_TRUE(made.ok()) << made.status().message();
  return *std::move(made);
}

}  // namespace thalweg
