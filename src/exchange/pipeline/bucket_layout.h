// Where each gradient lies in one flat vector, and where that vector is cut into buckets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "exchange/block.h"
#include "thalweg/gradients.h"

namespace thalweg {

// A run of consecutive positions of a layout.
struct PositionRun {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
  constexpr std::uint32_t end() const { return first + count; }
  constexpr bool operator==(const PositionRun&) const = default;
};

// The tensor registered last has position 0 and lies first, since the backward pass computes it first; so a
// higher position is more urgent: the next forward pass needs it earlier.
class BucketLayout {
 public:
  // Precondition: every tensor has elements, and there are fewer than 2^32 tensors.
  BucketLayout(std::span<const GradientSpec> tensors, std::size_t element_bytes, std::uint64_t bucket_bytes);

  std::uint32_t positions() const { return static_cast<std::uint32_t>(begin_.size() - 1); }
  std::uint32_t mirror(std::uint32_t tensor_or_position) const {
    return positions() - 1 - tensor_or_position;
  }
  std::uint64_t elements() const { return begin_.back(); }
  std::size_t element_bytes() const { return element_bytes_; }
  Block block(PositionRun run) const { return {begin_[run.first], begin_[run.end()] - begin_[run.first]}; }
  Block block(std::uint32_t position) const { return block(PositionRun{position, 1}); }
  // The position whose tensor holds an element.
  std::uint32_t position_at(std::uint64_t element) const;

  std::span<const PositionRun> buckets() const { return buckets_; }
  std::uint32_t bucket_of(std::uint32_t position) const { return bucket_of_[position]; }

 private:
  std::size_t element_bytes_;
  std::vector<std::uint64_t> begin_;  // By position, and the end.
  std::vector<PositionRun> buckets_;
  std::vector<std::uint32_t> bucket_of_;
};

}  // namespace thalweg
