// Linear models as Vowpal Wabbit writes its own for people and programs to read.
#pragma once

#include <map>

#include "model/format/file.h"
#include "model/format/model_dir.h"
#include "thalweg/status.h"

namespace thalweg {

// `scales`: as export_model() has them. kUsage: the model is not linear, or has several scores a row.
Status write_vw_readable(const ModelReader& model, const std::map<Key, float>& scales, File& file);

}  // namespace thalweg
