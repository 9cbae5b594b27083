// A stored model without the rows that hardly count.
#pragma once

#include <cstdint>
#include <string>

#include "model/format/model_dir.h"
#include "node/disk.h"
#include "thalweg/status.h"

namespace thalweg {

struct Pruned {
  std::uint64_t rows = 0;     // Of sparse tables, those that are left.
  std::uint64_t removed = 0;  // And those that are not.
  std::uint64_t digest = 0;   // Of the new model.
};
// Writes `model` to `destination`, which may be its own directory, without rows of sparse tables whose floats
// are all 0 or nearer to it than `below`; a key that a table does not have counts as 0. What is left has its
// optimizer state and, where keys expire, its ages. Memory grows with the model only there, by 8 bytes a row.
Result<Pruned> prune_model(const ModelReader& model, float below, Disk& disk, const std::string& destination);

}  // namespace thalweg
