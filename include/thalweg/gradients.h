// Gradients that travel while the backward pass still computes: fused into buckets, in an order that the
// ranks agree on, the most urgent first. docs/gradients.md explains.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "thalweg/reduction.h"

namespace thalweg {

// One tensor of a model, in the order of registration: the order in which the forward pass uses them.
struct GradientSpec {
  std::string name;
  std::uint64_t elements = 0;
};

struct GradientOptions {
  // What travels as one operation.
  enum class Fusion : std::uint8_t {
    kBuckets,    // Fixed buckets, filled in reverse order of registration (Li et al. 2020, PyTorch DDP).
    kThreshold,  // Neighbours that happen to be ready everywhere at once (Sergeev, Del Balso 2018, Horovod).
  };
  Fusion fusion = Fusion::kBuckets;
  // Most bytes fused; a larger tensor travels alone, and with 0 every tensor does.
  std::uint64_t bucket_bytes = std::uint64_t{25} << 20;
  // What is fused travels in pieces of at most so many bytes, between which a more urgent one may go (Peng et
  // al. 2019, ByteScheduler). 0: whole.
  std::uint64_t piece_bytes = std::uint64_t{4} << 20;
  // Most bytes under way at once, but always one piece. 0: no limit.
  std::uint64_t credit_bytes = std::uint64_t{16} << 20;
  // A tensor that some ranks have announced and others have not for so long ends the exchange with kTimeout.
  std::chrono::nanoseconds stall_timeout = std::chrono::seconds(60);
  DataType type = DataType::kF32;
  Reduction reduction = Reduction::kMean;

  // Horovod's way: up to 64 MB of what is ready, whole.
  static GradientOptions threshold() {
    GradientOptions options;
    options.fusion = Fusion::kThreshold;
    options.bucket_bytes = std::uint64_t{64} << 20;
    options.piece_bytes = 0;
    return options;
  }
};

}  // namespace thalweg
