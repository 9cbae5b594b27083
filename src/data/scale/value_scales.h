// What values of entries are divided by, feature by feature, in rows that have no columns.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "thalweg/batch.h"
#include "thalweg/ids.h"
#include "thalweg/status.h"

namespace thalweg {

class ValueScales {
 public:
  // A feature is scaled if so many of the rows that were looked at have a value of it whose mean size lies
  // outside of these bounds.
  static constexpr std::uint64_t kValuesEnough = 10;
  static constexpr double kSmallestFair = 1e-3, kLargestFair = 10;
  static constexpr std::size_t kMostFeatures = 4096;

  // By text(); kUsage: it is none.
  static Result<ValueScales> parse(std::string_view text);
  // The mean size of each such feature's values, to three digits; of more than kMostFeatures those that are
  // farthest from 1.
  static ValueScales choose(const Batch& rows);

  bool empty() const { return scales_.empty(); }
  const std::map<Key, float>& all() const { return scales_; }
  // As the feature's scale says, and at most kLargestScaled.
  float scaled(Key key, float value) const;
  std::string text() const;  // "3/312,7/0.0002", by ascending keys.

 private:
  std::map<Key, float> scales_;
};

}  // namespace thalweg
