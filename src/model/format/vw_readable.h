// Linear models as Vowpal Wabbit writes its own for people and programs to read.
#pragma once

#include "model/format/file.h"
#include "model/format/model_dir.h"
#include "thalweg/status.h"

namespace thalweg {

// kUsage: the model is not linear, or has several scores a row.
Status write_vw_readable(const ModelReader& model, File& file);

}  // namespace thalweg
