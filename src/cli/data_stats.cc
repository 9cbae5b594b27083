#include "cli/data_stats.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/mix.h"

namespace thalweg {

void DistinctKeys::add(Key key) {
  const PlacedKey placed = place(key);
  std::uint8_t& seen = registers_[placed >> (64 - kBits)];
  const auto run = static_cast<std::uint8_t>(std::countl_zero((placed << kBits) | 1) + 1);
  seen = std::max(seen, run);
}

double DistinctKeys::estimate() const {
  const auto count = static_cast<double>(registers_.size());
  double sum = 0, empty = 0;
  for (const std::uint8_t run : registers_) {
    sum += std::ldexp(1.0, -run);
    empty += run == 0 ? 1 : 0;
  }
  const double raw = 0.7213 / (1 + 1.079 / count) * count * count / sum;
  return raw < 2.5 * count && empty > 0 ? count * std::log(count / empty) : raw;
}

void Span::add(double value) {
  low = std::min(low, value), high = std::max(high, value);
  sum += value;
}

void DataStats::add(const Batch& batch) {
  rows_ += batch.rows(), entries_ += batch.entries();
  weighted_ = weighted_ || !batch.weights.empty();
  for (const float label : batch.labels) {
    labels_.add(label);
    positives_ += label > 0 ? 1 : 0;
  }
  for (std::size_t row = 0; row < batch.rows(); ++row) {
    row_entries_.add(batch.row_begin[row + 1] - batch.row_begin[row]);
  }
  for (const Key key : batch.keys) keys_.add(key);
  for (const float value : batch.values) values_.add(value);
  if (batch.values.empty() && batch.entries() > 0) {
    values_.add(1);
    values_.sum += static_cast<double>(batch.entries()) - 1;
  }
  for (const std::uint32_t field : batch.fields) fields_ = std::max(fields_, field + 1);
}

}  // namespace thalweg
