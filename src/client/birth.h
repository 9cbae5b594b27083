// Which process something was made in. A child that was forked has its memory, but neither its threads nor
// connections of its own.
#pragma once

#include <cstdint>

#include "thalweg/status.h"

namespace thalweg {

class Birth {
 public:
  Birth();
  // Whether this process was forked since.
  bool elsewhere() const;

 private:
  std::uint32_t forks_;
};

// Of a call on what was made elsewhere. kUsage.
Status made_elsewhere(const char* what);

}  // namespace thalweg
