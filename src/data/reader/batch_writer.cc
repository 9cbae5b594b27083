#include "data/reader/batch_writer.h"

namespace thalweg {

void BatchWriter::attach(Batch& batch, bool with_fields, bool keep_rows) {
  batch_ = &batch;
  rows_ = keep_rows ? batch.rows() : 0;
  entries_ = keep_rows ? batch.entries() : 0;
  with_fields_ = with_fields;
  with_values_ = keep_rows && !batch.values.empty();
  with_weights_ = keep_rows && !batch.weights.empty();
  // As much as the last batch needed and some more: resizing fills with zeros what it adds.
  const std::size_t likely = std::min(batch.keys.capacity(), last_entries_ + last_entries_ / 8);
  capacity_ = std::max<std::size_t>({batch.keys.size(), likely, 64});
  row_capacity_ =
      std::max<std::size_t>({batch.labels.size(), std::min(batch.labels.capacity(), last_rows_), 16});
  batch.keys.resize(capacity_);
  batch.labels.resize(row_capacity_);
  batch.row_begin.resize(row_capacity_ + 1);
  batch.row_begin[0] = 0;
  take_pointers();
}

// Sizes the optional vectors like the others and takes every vector's address.
void BatchWriter::take_pointers() {
  batch_->values.resize(with_values_ ? capacity_ : 0);
  batch_->fields.resize(with_fields_ ? capacity_ : 0);
  batch_->weights.resize(with_weights_ ? row_capacity_ : 0);
  keys_ = batch_->keys.data();
  labels_ = batch_->labels.data();
  row_begin_ = batch_->row_begin.data();
  values_ = with_values_ ? batch_->values.data() : nullptr;
  fields_ = with_fields_ ? batch_->fields.data() : nullptr;
  weights_ = with_weights_ ? batch_->weights.data() : nullptr;
}

void BatchWriter::detach() {
  batch_->keys.resize(entries_);
  batch_->values.resize(with_values_ ? entries_ : 0);
  batch_->fields.resize(with_fields_ ? entries_ : 0);
  batch_->labels.resize(rows_);
  batch_->weights.resize(with_weights_ ? rows_ : 0);
  batch_->row_begin.resize(rows_ + 1);
  batch_ = nullptr;
  last_entries_ = entries_;
  last_rows_ = rows_;
}

bool BatchWriter::grow() {
  if (capacity_ >= kMaxBatchEntries) return false;
  capacity_ *= 2;
  batch_->keys.resize(capacity_);
  take_pointers();
  return true;
}

void BatchWriter::grow_rows() {
  row_capacity_ *= 2;
  batch_->labels.resize(row_capacity_);
  batch_->row_begin.resize(row_capacity_ + 1);
  take_pointers();
}

void BatchWriter::start_values() {
  with_values_ = true;
  batch_->values.assign(capacity_, 1.0f);
  values_ = batch_->values.data();
}

void BatchWriter::start_weights() {
  with_weights_ = true;
  batch_->weights.assign(row_capacity_, 1.0f);
  weights_ = batch_->weights.data();
}

}  // namespace thalweg
