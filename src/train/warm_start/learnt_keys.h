// Which features a saved model has learnt.
#pragma once

#include <string>
#include <unordered_set>

#include "model/format/model_dir.h"
#include "thalweg/ids.h"
#include "thalweg/status.h"

namespace thalweg {

// Those of `keys` that a table of the model has a row of, and all of them where it has a weight for every
// input. kModel: it cannot be read.
Result<std::unordered_set<Key>> learnt_keys(const ModelReader& model, const std::unordered_set<Key>& keys);

// The model's columns, as columns_text() says them, where those whose scale is open, and that rows had
// numbers of, stay as they were learnt.
Result<std::string> columns_to_go_on_with(const ModelReader& model);

}  // namespace thalweg
