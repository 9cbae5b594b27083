// How long a node's driver looks for bytes before it sleeps.
#pragma once

#include <chrono>
#include <thread>

#include "base/instant.h"

namespace thalweg {

// Spinning pays only where every process can have a core.
inline Duration tcp_spin() {
  return std::chrono::microseconds(std::thread::hardware_concurrency() >= 4 ? 50 : 0);
}

}  // namespace thalweg
