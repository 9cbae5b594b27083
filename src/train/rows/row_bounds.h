// What rows may have so that a model takes them.
#pragma once

#include "data/read_options.h"
#include "model/model.h"

namespace thalweg {

inline RowBounds row_bounds(const ModelSpec& model) {
  RowBounds bounds;
  if (model.loss != Loss::kBytes) bounds.keys_below = bounds.pixels = model.inputs;
  (model.fields_by_place ? bounds.entries_most : bounds.fields_below) = model.fields;
  return bounds;
}

}  // namespace thalweg
