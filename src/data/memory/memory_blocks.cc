#include "data/memory/memory_blocks.h"

#include <algorithm>

#include "base/mix.h"
#include "data/read_options.h"

namespace thalweg {
namespace {

// Even parts, so that each shard has about 16.
std::uint64_t rows_of_chunk(std::uint64_t rows, std::uint32_t shards) {
  constexpr std::uint64_t kMaxChunkRows = 4096;
  return std::clamp<std::uint64_t>(rows / (std::uint64_t{shards} * 16), 1, kMaxChunkRows);
}

}  // namespace

MemoryBlocks::MemoryBlocks(std::uint64_t rows, std::uint32_t shard, std::uint32_t shards,
                           const RowShuffle& shuffle, std::uint32_t epoch)
    : rows_(rows),
      chunk_rows_(rows_of_chunk(rows, shards)),
      shard_(shard),
      shards_(shards),
      lines_(static_cast<std::size_t>(chunk_rows_) + kTextPad, '\n'),
      order_(shuffle, shard, epoch, own_chunks((rows + chunk_rows_ - 1) / chunk_rows_, shard, shards)) {}

Result<bool> MemoryBlocks::next(TextBlock& block) {
  if (at_ == order_.size()) return false;
  const std::uint64_t begin = (shard_ + order_[at_++] * shards_) * chunk_rows_;
  const std::uint64_t count = std::min(chunk_rows_, rows_ - begin);
  block = {};
  block.begin = lines_.data();
  block.end = block.begin + count;
  block.offset = block.first_line = block.first_row = begin;
  block.hash = place(begin ^ count);
  return true;
}

Status MemoryBlocks::rewind() {
  at_ = 0;
  order_.next_pass();
  return {};
}

double MemoryBlocks::fraction_done() const {
  return order_.size() == 0 ? 1.0 : static_cast<double>(at_) / static_cast<double>(order_.size());
}

}  // namespace thalweg
