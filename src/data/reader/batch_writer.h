// Writes rows into a Batch through raw pointers, so that the parsing loop neither reallocates nor checks
// twice.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "data/read_options.h"
#include "thalweg/batch.h"

namespace thalweg {

// Between attach() and detach() the batch's vectors are longer than their content. `values` and `weights`
// stay empty until the first that is not 1.
class BatchWriter {
 public:
  // keep_rows: go on after the rows that the batch holds; otherwise its content is forgotten, its memory
  // reused.
  void attach(Batch& batch, bool with_fields, bool keep_rows);
  void detach();

  std::size_t rows() const { return rows_; }
  std::size_t entries() const { return entries_; }

  // An entry of value 1 or of any value. False: the batch is full, see kMaxBatchEntries.
  bool add(Key key, std::uint32_t field = 0) {
    if (entries_ == capacity_ && !grow()) return false;
    keys_[entries_] = key;
    if (values_ != nullptr) values_[entries_] = 1.0f;
    if (fields_ != nullptr) fields_[entries_] = field;
    ++entries_;
    return true;
  }
  bool add_value(Key key, float value, std::uint32_t field = 0) {
    if (!add(key, field)) return false;
    if (value != 1.0f) set_last_value(value);
    return true;
  }

  // For the hot loop: room() slots from keys() may be written, then advance() counts them as entries of
  // value 1.
  Key* keys() { return keys_ + entries_; }
  std::size_t room() const { return capacity_ - entries_; }
  bool grow();
  void advance(std::size_t count) {
    if (values_ != nullptr) std::fill_n(values_ + entries_, count, 1.0f);
    entries_ += count;
  }
  void set_last_value(float value) {
    if (values_ == nullptr) start_values();
    values_[entries_ - 1] = value;
  }
  // Of the entries from this one on; `values_from` makes those of value 1 be written out.
  std::span<const Key> keys_from(std::size_t entry) const { return {keys_ + entry, keys_ + entries_}; }
  std::span<float> values_from(std::size_t entry) {
    if (values_ == nullptr) start_values();
    return {values_ + entry, values_ + entries_};
  }

  void end_row(float label, float weight) {
    if (rows_ == row_capacity_) grow_rows();
    labels_[rows_] = label;
    if (weight != 1.0f && weights_ == nullptr) start_weights();
    if (weights_ != nullptr) weights_[rows_] = weight;
    row_begin_[++rows_] = static_cast<std::uint32_t>(entries_);
  }
  void abandon_row() { entries_ = row_begin_[rows_]; }

  // The newest row becomes an unfinished one again; end_row() with what it returns ends it. Precondition:
  // there is one, and nothing behind it.
  struct LastRow {
    float label = 0, weight = 1;
    std::size_t entries = 0;
  };
  LastRow reopen_row() {
    --rows_;
    return {labels_[rows_], weights_ == nullptr ? 1.0f : weights_[rows_], entries_ - row_begin_[rows_]};
  }
  // Of the unfinished row, until an entry is added.
  std::span<Key> row_keys() { return {keys_ + row_begin_[rows_], keys_ + entries_}; }
  std::span<const float> row_values() const {
    return values_ == nullptr ? std::span<const float>()
                              : std::span<const float>(values_ + row_begin_[rows_], values_ + entries_);
  }
  std::span<const std::uint32_t> row_fields() const {
    return {fields_ + row_begin_[rows_], fields_ + entries_};
  }

 private:
  void start_values();
  void start_weights();
  void grow_rows();
  void take_pointers();

  Batch* batch_ = nullptr;
  Key* keys_ = nullptr;
  float* values_ = nullptr;
  std::uint32_t* fields_ = nullptr;
  float* labels_ = nullptr;
  float* weights_ = nullptr;
  std::uint32_t* row_begin_ = nullptr;
  std::size_t entries_ = 0, capacity_ = 0;
  std::size_t rows_ = 0, row_capacity_ = 0;
  std::size_t last_entries_ = 0, last_rows_ = 0;
  bool with_values_ = false, with_weights_ = false, with_fields_ = false;
};

}  // namespace thalweg
