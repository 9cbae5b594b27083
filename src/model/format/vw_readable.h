// Linear models as Vowpal Wabbit writes its own for people and programs to read.
#pragma once

#include <map>

#include "model/format/file.h"
#include "model/format/model_dir.h"
#include "thalweg/status.h"

namespace thalweg {

// What was subtracted from a feature's values in training, and what they were divided by then.
struct FeatureScale {
  double offset = 0;
  float scale = 1;
};
using FeatureScales = std::map<Key, FeatureScale>;

// kUsage: the model is not linear, or has several scores a row.
Status write_vw_readable(const ModelReader& model, const FeatureScales& scales, File& file);

}  // namespace thalweg
