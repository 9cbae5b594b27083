// In which order a pass comes to the chunks of a data shard.
#pragma once

#include <cstdint>
#include <vector>

#include "data/read_options.h"

namespace thalweg {

// One order a pass, drawn anew: a function of seed, shard, pass and the number of chunks alone.
class ChunkOrder {
 public:
  // `count`: the shard's chunks.
  ChunkOrder(const RowShuffle& shuffle, std::uint32_t shard, std::uint32_t epoch, std::uint64_t count);
  std::uint64_t size() const { return count_; }
  // Which of the shard's chunks the pass comes to at that place; both below size().
  std::uint64_t operator[](std::uint64_t at) const { return drawn_.empty() ? at : drawn_[at]; }
  void next_pass();

 private:
  void draw();

  RowShuffle shuffle_;
  std::uint32_t shard_, epoch_;
  std::uint64_t count_;
  std::vector<std::uint32_t> drawn_;  // Empty: as they stand.
};

// How many of `chunks` belong to a shard, where chunk i is shard i mod shards'.
constexpr std::uint64_t own_chunks(std::uint64_t chunks, std::uint32_t shard, std::uint32_t shards) {
  return chunks > shard ? (chunks - shard + shards - 1) / shards : 0;
}

}  // namespace thalweg
