// Gradients that travel while the backward pass still computes: fused into buckets, in an order that the
// ranks agree on, the most urgent first. docs/gradients.md explains.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "thalweg/group.h"
#include "thalweg/reduction.h"
#include "thalweg/status.h"

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
  // Lossy compression with error feedback, of f32 sums and means: "f16", "bf16", "int8", "top-k:0.01",
  // "random-k:0.01", "sign"; empty: none. It works on pieces. f16 and bf16 add up as they are, and what sums
  // of them round off is lost.
  std::string codec;
  RouteChoice route = {};  // Of what travels uncompressed; one without servers.

  // Horovod's way: up to 64 MB of what is ready, whole.
  static GradientOptions threshold() {
    GradientOptions options;
    options.fusion = Fusion::kThreshold;
    options.bucket_bytes = std::uint64_t{64} << 20;
    options.piece_bytes = 0;
    return options;
  }
};

// This rank's gradients, in memory of the group. One thread at a time uses them; exchange goes on behind its
// back, on the group's own thread. After an error other than kUsage no gradient can be exchanged any more:
// kTimeout names a gradient that some ranks have not announced, kPeerLost a rank that is gone, kAborted one
// that has destroyed its gradients.
class Gradients {
 public:
  // All ranks call it, with equal sizes and options. Errors: kUsage, and those of Group.
  static Result<Gradients> create(Group& group, std::vector<GradientSpec> tensors,
                                  GradientOptions options = {});
  Gradients(Gradients&& other) noexcept;
  Gradients& operator=(Gradients&& other) noexcept;
  ~Gradients();

  std::size_t size() const;
  // The tensor's elements; zero at first. Precondition: the type is f32.
  std::span<float> tensor(std::size_t number);
  // The same of any type.
  std::span<std::byte> bytes(std::size_t number);

  // The tensor holds this rank's contribution, and nobody touches it until wait(). Never blocks.
  Status announce(std::size_t number);
  Status announce_all();
  // Returns when the tensor holds the combination of all ranks' contributions, or at once if it was not
  // announced.
  Status wait(std::size_t number);
  Status wait_all();

  struct Stats {
    std::uint64_t buckets = 0;              // That the layout has.
    std::uint64_t units = 0;                // Fused operations so far; rank 0 counts them.
    std::uint64_t pieces = 0;               // Exchanged so far.
    std::uint64_t in_flight_bytes_max = 0;  // Under way at once so far.
  };
  // Precondition: none is under way.
  Stats stats() const;

 private:
  class Impl;
  explicit Gradients(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace thalweg
