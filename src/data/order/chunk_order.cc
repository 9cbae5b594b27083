#include "data/order/chunk_order.h"

#include <numeric>
#include <utility>

#include "base/random.h"

namespace thalweg {
namespace {

constexpr std::uint64_t kChunkConcern = 0x6368756e6b73;

}  // namespace

ChunkOrder::ChunkOrder(const RowShuffle& shuffle, std::uint32_t shard, std::uint32_t epoch,
                       std::uint64_t count)
    : shuffle_(shuffle), shard_(shard), epoch_(epoch), count_(count) {
  draw();
}

void ChunkOrder::next_pass() {
  ++epoch_;
  draw();
}

void ChunkOrder::draw() {
  if (shuffle_.order == RowOrder::kFiles) return;
  drawn_.resize(count_);
  std::iota(drawn_.begin(), drawn_.end(), 0u);
  Random random = Random(shuffle_.seed).split(kChunkConcern).split(shard_).split(epoch_);
  for (std::size_t left = drawn_.size(); left > 1; --left)
    std::swap(drawn_[left - 1], drawn_[random.below(left)]);
}

}  // namespace thalweg
