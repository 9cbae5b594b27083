// What two nodes tell each other first on every connection.
#pragma once

#include <cstdint>

#include "base/frame.h"

namespace thalweg {

struct Hello {
  NodeId from;
  NodeId to;                      // Whom the dialler means; in the answer, whom it is for.
  std::uint64_t cluster = 0;      // 0: not yet told.
  std::uint64_t incarnation = 0;  // Drawn anew by each process, so that a restarted peer is known as such.
};

Frame encode_hello(const Hello& hello);
// Refuses anything but a hello of this wire version.
Result<Hello> decode_hello(const Frame& frame);

}  // namespace thalweg
