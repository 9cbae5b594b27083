// The machine's steady clock, counted from its construction.
#pragma once

#include <chrono>

#include "node/node.h"

namespace thalweg {

class RealClock final : public Clock {
 public:
  Instant now() const override { return {Duration(std::chrono::steady_clock::now() - start_).count()}; }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace thalweg
