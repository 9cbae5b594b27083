// What a data shard's rows go through between their reader and its batches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "data/data_set.h"
#include "data/order/row_pool.h"
#include "thalweg/batch.h"
#include "thalweg/ids.h"
#include "thalweg/status.h"
#include "train/rows/key_counting.h"
#include "train/train_spec.h"

namespace thalweg {

// One thread at a time. What comes out is a function of the shard's rows, the spec and the pass alone.
class RowStages {
 public:
  // Of the rows that are learnt, beginning with pass `epoch`; null: they are learnt as they are read.
  // `counting`: has ended, and outlives them; null: no key is too rare.
  static std::unique_ptr<RowStages> of_training(const TrainSpec& spec, ShardId shard, std::uint32_t epoch,
                                                const KeyCounting* counting);
  // Of held-out rows, which are all there, in their order and of their own weight.
  static std::unique_ptr<RowStages> of_held_out(const KeyCounting* counting);

  // As RowReader::next().
  Result<std::size_t> next(RowReader& reader, std::size_t rows_max, Batch& out);
  void next_pass();
  // Of the rows that were read, how many have come out.
  double fraction_out() const { return pool_ ? pool_->fraction_drawn() : 1; }

 private:
  RowStages() = default;
  bool samples() const { return kept_negatives_ < 1; }
  Result<std::size_t> read(RowReader& reader, std::size_t rows_max, Batch& out);
  Result<std::size_t> read_sample(RowReader& reader, std::size_t rows_max, Batch& out);

  float positive_weight_ = 1;
  double kept_negatives_ = 1;
  std::uint64_t chance_ = 0;               // Of this shard, from which each row's is drawn.
  std::uint64_t row_ = 0;                  // Of this pass, in the order of the reader.
  Batch incoming_, sample_;                // sample_: rows that have not come out yet.
  const KeyCounting* counting_ = nullptr;  // Null: no key is too rare.
  std::unique_ptr<RowPool> pool_;          // Null: rows stay in their order.
};

}  // namespace thalweg
