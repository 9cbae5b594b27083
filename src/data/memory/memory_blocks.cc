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

MemoryBlocks::MemoryBlocks(std::uint64_t rows, std::uint32_t shard, std::uint32_t shards)
    : rows_(rows),
      chunk_rows_(rows_of_chunk(rows, shards)),
      shard_(shard),
      shards_(shards),
      lines_(static_cast<std::size_t>(chunk_rows_) + kTextPad, '\n'),
      chunk_(shard) {}

Result<bool> MemoryBlocks::next(TextBlock& block) {
  const std::uint64_t begin = chunk_ * chunk_rows_;
  if (begin >= rows_) return false;
  const std::uint64_t count = std::min(chunk_rows_, rows_ - begin);
  block = {};
  block.begin = lines_.data();
  block.end = block.begin + count;
  block.offset = block.first_line = block.first_row = begin;
  block.hash = place(begin ^ count);
  chunk_ += shards_;
  return true;
}

Status MemoryBlocks::rewind() {
  chunk_ = shard_;
  return {};
}

double MemoryBlocks::fraction_done() const {
  return std::min(1.0, static_cast<double>(chunk_ * chunk_rows_) / static_cast<double>(rows_));
}

}  // namespace thalweg
