// Zeros that are entries of a row, where others are none.
#pragma once

#include <unordered_set>

#include "data/read_options.h"

namespace thalweg {

// Of features that are learnt from their mean, by ReadOptions::value_scales: no entry stands for the mean.
class ZerosThatCount {
 public:
  // Precondition: the scales have been parsed before.
  explicit ZerosThatCount(const ReadOptions& options);
  // `key` as RowRules::key() has it.
  bool contain(Key key) const { return !keys_.empty() && keys_.contains(key); }

 private:
  std::unordered_set<Key> keys_;
};

}  // namespace thalweg
