// A checkpoint as a model.
#pragma once

#include <cstdint>
#include <string>

#include "thalweg/status.h"

namespace thalweg {

struct ExportedCheckpoint {
  std::uint64_t digest = 0;
  std::uint64_t rows = 0;  // Of all sparse tables.
};
// Saves the rows of the checkpoint at `path` as a model at `directory`, as thalweg train --out does. kIo,
// kModel.
Result<ExportedCheckpoint> export_checkpoint(const std::string& path, const std::string& directory);

}  // namespace thalweg
