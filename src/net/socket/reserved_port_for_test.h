// A port for listeners that a test starts later, and starts again.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <mutex>

#include "net/socket/reserved_port.h"

namespace thalweg {

// Kept until a hundred others are, which is the end of the process but for tests that are repeated.
inline std::uint16_t port_for_this_test() {
  static std::mutex mutex;
  static std::deque<ReservedPort> kept;
  Result<ReservedPort> port = ReservedPort::reserve();
  EXPECT_TRUE(port) << port.status().message();
  const std::lock_guard lock(mutex);
  kept.push_back(*std::move(port));
  if (kept.size() > 100) kept.pop_front();
  return kept.back().number();
}

}  // namespace thalweg
