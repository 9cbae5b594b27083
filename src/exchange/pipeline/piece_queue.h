// What is ready everywhere, as pieces to exchange, the most urgent first.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "base/instant.h"
#include "exchange/block.h"
#include "exchange/pipeline/bucket_layout.h"
#include "thalweg/gradients.h"

namespace thalweg {

// A unit is what has been fused: a bucket, or a run of ready neighbours. While its pieces go out, a unit that
// is more urgent (has a higher position) goes between them.
class PieceQueue {
 public:
  // `layout` outlives the queue.
  PieceQueue(const BucketLayout& layout, const GradientOptions& options);

  // Precondition: the position is not in the queue.
  void add(std::uint32_t position, Instant now);
  // The next piece; by threshold, this is when ready neighbours are fused.
  std::optional<Block> front();
  void pop();
  std::uint64_t units() const { return units_; }  // So far.

  // The bucket that has waited longest for its other gradients, by one of these, and since when; none:
  // kNever.
  struct Incomplete {
    std::uint32_t position = 0;
    Instant since = kNever;
  };
  Incomplete oldest_incomplete();

 private:
  void open(PositionRun run);
  PositionRun fuse_ready() const;

  const BucketLayout& layout_;
  GradientOptions::Fusion fusion_;
  std::uint64_t unit_elements_;
  std::uint64_t piece_elements_;
  std::vector<bool> here_;              // By position, in buckets that are not complete.
  std::vector<std::uint32_t> missing_;  // By bucket: positions that are not here.
  std::vector<Instant> since_;          // By bucket: its first one's coming; kNever: none is here.
  std::deque<Incomplete> waiting_;      // In order of time, by first position; some may be complete.
  std::set<std::uint32_t> ready_;       // By threshold: not yet fused.
  std::map<std::uint32_t, Block, std::greater<>>
      open_;  // What is left of each unit, by its highest position.
  std::uint64_t units_ = 0;
};

}  // namespace thalweg
