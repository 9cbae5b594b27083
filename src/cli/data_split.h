// Dealing the rows of files to two files, as their lines stand.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/read_options.h"
#include "thalweg/status.h"

namespace thalweg {

struct SplitReport {
  std::uint64_t train_rows = 0, valid_rows = 0;
  std::string train_path, valid_path;
};

// Every part_modulus-th row over all files goes to DIR/valid.EXT, the others to DIR/train.EXT; the same rows
// that Part::kHeldOut reads. Headers go to both, blank lines and comments to neither. The files appear whole
// or not at all. Memory does not grow with the data.
Result<SplitReport> split_rows(const ReadOptions& options, const std::string& directory);

}  // namespace thalweg
