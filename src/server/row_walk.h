// The rows of a table as they were at one moment, given out piece by piece while the table goes on changing:
// whoever is about to change rows says so first, and what these were is kept until it has been given out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "server/chain/log_entry.h"
#include "server/changes/touched_rows.h"
#include "server/kept_rows.h"
#include "table/table.h"

namespace thalweg {

class RowWalk {
 public:
  // From now on; of all rows, or of those that were touched. The table outlives it, and has the same ranges
  // until then.
  explicit RowWalk(const Table& table, std::shared_ptr<const TouchedRows> touched = nullptr);

  // The rows of a push are about to change, or to be made.
  void before(const Contribution& change);
  // The same of single rows, by ascending keys or row numbers.
  void before_rows(std::span<const std::uint64_t> keys);
  // The next ones, of one range: so many bytes, or one row, or what is left of the range. Nothing: there are
  // no more.
  std::optional<LoadEntry> next(std::size_t bytes);
  // Of rows that have changed and are yet to be given out.
  std::size_t kept() const;

 private:
  static constexpr unsigned kBucketBits = 8;

  // Buckets ascend as keys do, and are so many that none takes long to grow.
  KeptRows& bucket(std::uint64_t key) { return kept_[key >> shift_]; }
  void keep(std::span<const std::uint64_t> keys, std::span<const std::uint32_t> numbers);
  // Puts rows as they were in the place of those that have changed.
  void turn_back(std::vector<std::uint64_t>& keys, std::vector<float>& rows);
  void forget(std::uint64_t begin, std::uint64_t end);
  std::uint64_t end_of(RangeId range) const;

  const Table& table_;
  const std::shared_ptr<const TouchedRows> touched_;  // Null: all.
  const bool dense_;
  const std::size_t width_;
  std::vector<std::uint16_t> ranges_;  // Those to come, the next one last.
  std::uint64_t from_ = 0;             // Rows before this one have been given out.
  unsigned shift_;
  std::vector<KeptRows> kept_;  // None before the first change: most walks end without one.
};

}  // namespace thalweg
