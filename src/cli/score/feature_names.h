// Features of the input by their names.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "cli/options/options.h"
#include "data/data_set.h"
#include "model/format/manifest.h"
#include "thalweg/batch.h"
#include "thalweg/status.h"

namespace thalweg {

// Of the row's entries, in their order; keys as decimals where the format has no other names.
void name_entries(const DataSet& data, const Batch& rows, const RowLines& lines, std::size_t row,
                  std::vector<std::string>& names);

struct InputBatch {
  const DataSet& data;
  const Batch& rows;
  const RowLines& lines;
};
// Rows of files as a model learnt them, without labels; false ends it.
Status read_features(const Manifest& manifest, const Options& options, const std::vector<std::string>& files,
                     const std::function<bool(const InputBatch&)>& sink);

// Of those keys that the files have, each by the first entry that has it; reads no further than the last.
Result<std::unordered_map<Key, std::string>> names_of_keys(const Manifest& manifest, const Options& options,
                                                           const std::vector<std::string>& files,
                                                           std::unordered_set<Key> keys);

}  // namespace thalweg
