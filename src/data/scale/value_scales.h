// What is subtracted from values of entries, and what they are divided by, feature by feature, in rows that
// have no columns.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "data/column/columns.h"
#include "thalweg/batch.h"
#include "thalweg/ids.h"
#include "thalweg/status.h"

namespace thalweg {

class ValueScales {
 public:
  // A feature is scaled if so many of the rows that were looked at have a value of it, and the values' mean
  // size lies outside of these bounds, or all rows have one and the values are far from 0.
  static constexpr std::uint64_t kValuesEnough = 10;
  static constexpr double kSmallestFair = 1e-3, kLargestFair = 10;
  static constexpr std::size_t kMostFeatures = 4096;

  // By text(); kUsage: it is none.
  static Result<ValueScales> parse(std::string_view text);
  // The mean size of each such feature's values, from their mean where they are far from 0; of more than
  // kMostFeatures those that are farthest from 1, or from 0 beside how much they differ.
  static ValueScales choose(const Batch& rows);

  // These, and as many of the others' as there is room for, for keys that are none of these and not in `but`.
  ValueScales with(const ValueScales& others, const std::unordered_set<Key>& but) const;

  bool empty() const { return scales_.empty(); }
  const std::map<Key, NumberForm>& all() const { return scales_; }  // All linear, and with a scale.
  // What a value becomes.
  float scaled(Key key, float value) const;
  std::string text() const;  // "3/312,7/0.0002,9-1950/20", by ascending keys.

 private:
  void add(Key key, const NumberForm& form);

  std::map<Key, NumberForm> scales_;
  std::vector<NumberForm> of_small_keys_;  // The same, by key; without a scale where there is none.
};

}  // namespace thalweg
