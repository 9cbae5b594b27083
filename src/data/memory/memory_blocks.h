// Rows in memory as blocks of text, an empty line a row, so that a reader counts and places them like any
// others.
#pragma once

#include <cstdint>
#include <string>

#include "data/block.h"
#include "data/order/chunk_order.h"

namespace thalweg {

// One shard's: rows are cut into chunks, and chunk i belongs to shard i mod shards, so that which rows a
// shard has is a function of the number of rows and of shards alone.
class MemoryBlocks final : public BlockSource {
 public:
  MemoryBlocks(std::uint64_t rows, std::uint32_t shard, std::uint32_t shards, const RowShuffle& shuffle = {},
               std::uint32_t epoch = 0);

  Result<bool> next(TextBlock& block) override;
  Status rewind() override;
  double fraction_done() const override;
  std::uint64_t hash_of_all() const override { return 0; }

 private:
  const std::uint64_t rows_, chunk_rows_;
  const std::uint32_t shard_, shards_;
  const std::string lines_;
  ChunkOrder order_;
  std::uint64_t at_ = 0;  // In order_.
};

}  // namespace thalweg
