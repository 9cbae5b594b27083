#include "model/local_batch.h"

#include <numeric>
#include <utility>

#include "base/check.h"
#include "model/place_keys.h"

namespace thalweg {

void LocalBatch::take(Batch& batch) {
  THALWEG_CHECK(
      batch.row_begin.size() == batch.labels.size() + 1 && batch.row_begin.back() == batch.keys.size(),
      "row offsets cover the entries");
  std::swap(rows_.labels, batch.labels);
  std::swap(rows_.weights, batch.weights);
  std::swap(rows_.row_begin, batch.row_begin);
  std::swap(rows_.values, batch.values);
  std::swap(rows_.fields, batch.fields);
}

void LocalBatch::assign(Batch& batch, KeyIndex& index) {
  take(batch);
  index.assign(batch.keys, keys_, local_);
  batch.clear();
}

void LocalBatch::assign_each(Batch& batch) {
  take(batch);
  keys_.resize(batch.keys.size());
  place_keys(batch.keys, keys_.data());
  local_.resize(batch.keys.size());
  std::iota(local_.begin(), local_.end(), 0u);
  batch.clear();
}

void LocalBatch::keep(Batch& batch) {
  take(batch);
  keys_.clear();
  local_.resize(batch.keys.size());
  for (std::size_t e = 0; e < local_.size(); ++e) local_[e] = static_cast<std::uint32_t>(batch.keys[e]);
  batch.clear();
}

}  // namespace thalweg
