#include "data/order/row_pool.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

namespace thalweg {
namespace {

constexpr std::uint64_t kPoolConcern = 0x726f7773;

void append_entries(std::span<const Key> keys, std::span<const float> values,
                    std::span<const std::uint32_t> fields, Batch& out) {
  const std::size_t before = out.keys.size();
  out.keys.insert(out.keys.end(), keys.begin(), keys.end());
  out.fields.insert(out.fields.end(), fields.begin(), fields.end());
  if (values.empty() && out.values.empty()) return;
  out.values.resize(before, 1.0f);
  if (values.empty()) {
    out.values.resize(before + keys.size(), 1.0f);
  } else {
    out.values.insert(out.values.end(), values.begin(), values.end());
  }
}

void end_appended_row(float label, float weight, Batch& out) {
  const std::size_t before = out.labels.size();
  out.labels.push_back(label);
  out.row_begin.push_back(static_cast<std::uint32_t>(out.keys.size()));
  if (weight == 1.0f && out.weights.empty()) return;
  out.weights.resize(before, 1.0f);
  out.weights.push_back(weight);
}

// Of a row, none where all are 1.
std::span<const float> values_of(const Batch& batch, std::size_t begin, std::size_t count) {
  if (batch.values.empty()) return {};
  const std::span<const float> values = std::span(batch.values).subspan(begin, count);
  const bool ones = std::all_of(values.begin(), values.end(), [](float value) { return value == 1.0f; });
  return ones ? std::span<const float>() : values;
}

float weight_of(const Batch& batch, std::size_t row) {
  return batch.weights.empty() ? 1.0f : batch.weights[row];
}

template <class Value>
std::byte* copy_in(std::byte* to, std::span<const Value> from) {
  if (!from.empty()) std::memcpy(to, from.data(), from.size_bytes());
  return to + from.size_bytes();
}

}  // namespace

void append_row(const Batch& from, std::size_t row, Batch& batch) {
  const std::size_t begin = from.row_begin[row], count = from.row_begin[row + 1] - begin;
  const auto fields =
      from.fields.empty() ? std::span<const std::uint32_t>() : std::span(from.fields).subspan(begin, count);
  append_entries(std::span(from.keys).subspan(begin, count), values_of(from, begin, count), fields, batch);
  end_appended_row(from.labels[row], weight_of(from, row), batch);
}

RowPool::RowPool(const RowShuffle& shuffle, std::uint32_t shard, std::uint32_t epoch)
    : shuffle_(shuffle), shard_(shard), epoch_(epoch), random_(drawn()) {}

Random RowPool::drawn() const {
  return Random(shuffle_.seed).split(kPoolConcern).split(shard_).split(epoch_);
}

std::uint64_t RowPool::Row::bytes() const {
  constexpr std::uint64_t kBookkeeping = 16;  // Of a piece of memory.
  return sizeof(Row) + kBookkeeping +
         entries *
             (sizeof(Key) + (has_values ? sizeof(float) : 0) + (has_fields ? sizeof(std::uint32_t) : 0));
}

RowPool::Row RowPool::taken(const Batch& batch, std::size_t row) {
  const std::size_t begin = batch.row_begin[row], count = batch.row_begin[row + 1] - begin;
  const std::span<const float> values = values_of(batch, begin, count);
  Row out;
  out.label = batch.labels[row];
  out.weight = weight_of(batch, row);
  out.entries = static_cast<std::uint32_t>(count);
  out.has_values = !values.empty();
  out.has_fields = !batch.fields.empty();
  const std::size_t unit =
      sizeof(Key) + (out.has_values ? sizeof(float) : 0) + (out.has_fields ? sizeof(std::uint32_t) : 0);
  out.data = std::make_unique_for_overwrite<std::byte[]>(count * unit);
  std::byte* to = copy_in(out.data.get(), std::span(batch.keys).subspan(begin, count));
  to = copy_in(to, values);
  if (out.has_fields) copy_in(to, std::span(batch.fields).subspan(begin, count));
  return out;
}

void RowPool::put(const Row& row, Batch& out) {
  const std::byte* const data = row.data.get();
  const auto* const keys = reinterpret_cast<const Key*>(data);
  const auto* const values = reinterpret_cast<const float*>(data + row.entries * sizeof(Key));
  const std::size_t value_count = row.has_values ? row.entries : 0;
  const auto* const fields = reinterpret_cast<const std::uint32_t*>(values + value_count);
  append_entries({keys, row.entries}, {values, value_count}, {fields, row.has_fields ? row.entries : 0}, out);
  end_appended_row(row.label, row.weight, out);
}

Result<std::size_t> RowPool::next(const Read& read, std::size_t rows_max, Batch& out) {
  out.clear();
  while (!ended_ && (bytes_ < shuffle_.pool_bytes || rows_.size() < rows_max)) {
    const auto rows = read(rows_max, incoming_);
    if (!rows) return rows.status();
    ended_ = *rows == 0;
    for (std::size_t row = 0; row < *rows; ++row) {
      rows_.push_back(taken(incoming_, row));
      bytes_ += rows_.back().bytes();
    }
    read_ += *rows;
  }
  for (; out.rows() < rows_max && !rows_.empty(); ++left_) {
    std::swap(rows_[random_.below(rows_.size())], rows_.back());
    put(rows_.back(), out);
    bytes_ -= rows_.back().bytes();
    rows_.pop_back();
  }
  return out.rows();
}

void RowPool::next_pass() {
  ++epoch_;
  random_ = drawn();
  rows_.clear();
  bytes_ = read_ = left_ = 0;
  ended_ = false;
}

double RowPool::fraction_drawn() const {
  return read_ == 0 ? 0 : static_cast<double>(left_) / static_cast<double>(read_);
}

}  // namespace thalweg
