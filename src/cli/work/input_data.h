// Input that a command reads as a whole.
#pragma once

#include <memory>

#include "cli/options/input.h"
#include "data/summary.h"

namespace thalweg {

// With warnings of what is odd about it.
Result<std::shared_ptr<DataSet>> open_data(const ReadOptions& read, Output& out);
Result<Summary> read_all(DataSet& data);

}  // namespace thalweg
