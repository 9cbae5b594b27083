// One piece of the flat vector of gradients on its way through a group, compressed or not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "exchange/block.h"
#include "exchange/codec/codec.h"
#include "thalweg/gradients.h"
#include "thalweg/group.h"

namespace thalweg {

// What all pieces share.
struct GradientMemory {
  std::byte* data = nullptr;  // The flat vector.
  std::size_t element_bytes = 4;
  std::unique_ptr<Codec> codec;  // Null: none.
  std::vector<float> residual;   // With a codec: what it lost so far,
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t>
      rounds;  // and how often by a block's place
};             // and size.

class GradientPiece {
 public:
  // Starts the exchange.
  GradientPiece(Group& group, GradientMemory& memory, const GradientOptions& options, Block block);
  Block block() const { return block_; }
  bool done() const { return work_.done(); }
  // Brings the result to where it belongs. Precondition: done().
  Status end(GradientMemory& memory);

 private:
  GroupWork begin(Group& group, GradientMemory& memory, const GradientOptions& options);
  std::span<float> values(GradientMemory& memory) const;

  Block block_;
  CodecRound round_;
  bool adds_encoded_ = false;  // The codec's elements are summed, else all ranks' bytes are gathered.
  float factor_ = 1;           // Of each decoded contribution.
  std::vector<std::byte> encoded_;
  GroupWork work_;
};

}  // namespace thalweg
