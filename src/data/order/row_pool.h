// Rows of one data shard in random order, from a pool of bounded size: each row that leaves it is drawn from
// all that are there, and what is read next takes its place. A shard that fits in the pool is in an order
// that is drawn from all orders; of a larger one, the parts of files that fill the pool come in random order
// (Xu et al., Stochastic gradient descent without full data shuffle, CorgiPile, SIGMOD 2022).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/random.h"
#include "data/read_options.h"
#include "thalweg/batch.h"
#include "thalweg/status.h"

namespace thalweg {

// Behind the rows of `batch`, with which it must agree on having fields.
void append_row(const Batch& from, std::size_t row, Batch& batch);

// One thread at a time.
class RowPool {
 public:
  // As RowReader::next(): up to `rows_max` rows, 0 at the end; after kRetry it is called again alike.
  using Read = std::function<Result<std::size_t>(std::size_t rows_max, Batch& out)>;

  // The rows of pass `epoch` of `shard`. The order is a function of the rows, shuffle, shard and pass.
  RowPool(const RowShuffle& shuffle, std::uint32_t shard, std::uint32_t epoch);
  // Exactly `rows_max` rows, fewer at the pass's end. Errors, kRetry among them, are those of `read`.
  Result<std::size_t> next(const Read& read, std::size_t rows_max, Batch& out);
  void next_pass();
  // Of the rows that were read, how many have left.
  double fraction_drawn() const;
  std::uint64_t bytes() const { return bytes_; }

 private:
  struct Row {
    float label, weight;
    std::uint32_t entries;
    bool has_values, has_fields;
    std::unique_ptr<std::byte[]> data;  // Keys, values and fields.
    std::uint64_t bytes() const;
  };
  static Row taken(const Batch& batch, std::size_t row);
  static void put(const Row& row, Batch& out);
  Random drawn() const;

  const RowShuffle shuffle_;
  const std::uint32_t shard_;
  std::uint32_t epoch_;
  Random random_;
  std::vector<Row> rows_;
  std::uint64_t bytes_ = 0;
  std::uint64_t read_ = 0, left_ = 0;  // Rows of this pass.
  bool ended_ = false;
  Batch incoming_;
};

}  // namespace thalweg
