#include "model/local_batch.h"

#include <utility>

#include "base/check.h"

namespace thalweg {

void LocalBatch::assign(Batch& batch, KeyIndex& index) {
  THALWEG_CHECK(
      batch.row_begin.size() == batch.labels.size() + 1 && batch.row_begin.back() == batch.keys.size(),
      "row offsets cover the entries");
  std::swap(rows_.labels, batch.labels);
  std::swap(rows_.weights, batch.weights);
  std::swap(rows_.row_begin, batch.row_begin);
  std::swap(rows_.values, batch.values);
  std::swap(rows_.fields, batch.fields);
  index.assign(batch.keys, keys_, local_);
  batch.clear();
}

}  // namespace thalweg
