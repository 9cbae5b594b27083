// What a data set is like, in constant memory.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "thalweg/batch.h"

namespace thalweg {

// About how many distinct keys were seen, within 2 % (standard error 0.8 %). HyperLogLog: Flajolet et al.
// 2007, with linear counting below 2.5 registers a key.
class DistinctKeys {
 public:
  DistinctKeys() : registers_(std::size_t{1} << kBits) {}
  void add(Key key);
  double estimate() const;

 private:
  static constexpr unsigned kBits = 14;
  std::vector<std::uint8_t> registers_;
};

struct Span {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  double sum = 0;
  void add(double value);
};

class DataStats {
 public:
  void add(const Batch& batch);

  std::uint64_t rows() const { return rows_; }
  std::uint64_t entries() const { return entries_; }
  std::uint64_t positives() const { return positives_; }  // Rows with a label above 0.
  std::uint32_t fields() const { return fields_; }        // 1 + the highest; 0: the format has none.
  bool weighted() const { return weighted_; }
  const Span& labels() const { return labels_; }
  const Span& values() const { return values_; }
  const Span& row_entries() const { return row_entries_; }
  double distinct_keys() const { return keys_.estimate(); }

 private:
  std::uint64_t rows_ = 0, entries_ = 0, positives_ = 0;
  std::uint32_t fields_ = 0;
  bool weighted_ = false;
  Span labels_, values_, row_entries_;
  DistinctKeys keys_;
};

}  // namespace thalweg
