// Where a rank's buffers are, for the ranks of its machine.
#pragma once

#include <cstdint>

#include "node/fabric.h"

namespace thalweg {

struct SharedPlace {
  std::uint64_t in = Fabric::kNotShared;  // In the memory that they share.
  std::uint64_t out = Fabric::kNotShared;
  std::uint64_t staging = Fabric::kNotShared;
  std::uint64_t in_address = 0;  // In the rank's own memory.
  std::uint64_t out_address = 0;
  std::uint16_t fetches = 0;   // 1: this rank can fetch from all others, and would.
  std::uint16_t sends = 0;     // 1: between two ranks, vectors are to go by messages.
  std::uint16_t borrowed = 0;  // 1: the staging area may serve other ranks afterwards.
  std::uint16_t unused = 0;

  // Whether this rank stages the first of a vector that is to be combined before it is asked where.
  bool offers_early() const { return in == Fabric::kNotShared && staging != Fabric::kNotShared; }
};

}  // namespace thalweg
