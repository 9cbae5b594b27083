// The value that a training which has diverged is most likely to have diverged by.
#pragma once

#include <optional>
#include <string>

#include "data/data_set.h"

namespace thalweg {

struct ExtremeValue {
  float value = 0;
  bool is_label = false;
  std::string what;   // "column \"price\"", "feature 17", "the label".
  std::string where;  // "train.csv:12"
};

// The largest by magnitude among the values, and the labels unless they are binary, of the first 2^21 rows of
// the same files. Nothing where they cannot be read again.
std::optional<ExtremeValue> find_extreme_value(const DataSet& data);

}  // namespace thalweg
