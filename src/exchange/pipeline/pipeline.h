// One rank's gradients on their way: which are announced, which pieces are being exchanged, which are done.
// No I/O, time or thread of its own; its driver moves the control records and exchanges the pieces.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "exchange/pipeline/bucket_layout.h"
#include "exchange/pipeline/negotiation.h"
#include "thalweg/gradients.h"
#include "thalweg/status.h"

namespace thalweg {

class Pipeline {
 public:
  // OK, or what is wrong with these tensors and options.
  static Status check(std::span<const GradientSpec> tensors, const GradientOptions& options);
  // Precondition: check() is OK. `channel` of the fabric is the pipeline's alone.
  Pipeline(std::vector<GradientSpec> tensors, GradientOptions options, std::uint32_t rank,
           std::uint32_t ranks, std::uint16_t channel);
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  const BucketLayout& layout() const { return layout_; }
  // The gradient's elements in the flat vector.
  Block block(std::uint32_t tensor) const { return layout_.block(layout_.mirror(tensor)); }

  // The gradient is computed, and nobody touches it until done(). kUsage when it is under way already, or
  // does not exist; otherwise the pipeline's status.
  Status announce(std::uint32_t tensor, Instant now);
  bool done(std::uint32_t tensor) const { return left_[layout_.mirror(tensor)] == 0; }
  bool idle() const { return under_way_ == 0; }

  // Call when a control link may have changed, after announce(), start(), finish() and fail(), and at
  // next_deadline(); and start() after each call, since there may be more to begin.
  void advance(Fabric& fabric, Instant now) { negotiation_.advance(fabric, now); }
  Instant next_deadline() { return negotiation_.next_deadline(); }
  // The piece of the flat vector to begin exchanging now; all ranks get the same ones in the same order.
  std::optional<Block> start();
  // That piece has been exchanged. Adds the tensors that are done now to `done`.
  void finish(Block piece, std::vector<std::uint32_t>& done);
  // Ends all ranks' pipelines; pieces that were agreed on before are still to be exchanged.
  void fail(Status status) { negotiation_.fail(std::move(status)); }
  const Status& status() const { return negotiation_.status(); }
  // Whether gradients announced here wait for other ranks, and whether every record has been sent.
  bool awaiting() const { return negotiation_.awaiting(); }
  bool flushed() const { return negotiation_.flushed(); }

  struct Stats {
    std::uint64_t units = 0;                // Fused operations so far; rank 0 counts them.
    std::uint64_t pieces = 0;               // Begun so far.
    std::uint64_t in_flight_bytes_max = 0;  // At once.
  };
  Stats stats() const { return {negotiation_.units(), pieces_, negotiation_.in_flight_bytes_max()}; }

 private:
  std::vector<GradientSpec> tensors_;
  BucketLayout layout_;
  Negotiation negotiation_;
  std::vector<std::uint64_t> left_;  // By position: elements announced and not exchanged.
  std::uint32_t under_way_ = 0;      // Gradients.
  std::uint64_t pieces_ = 0;
};

}  // namespace thalweg
