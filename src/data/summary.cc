#include "data/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/mix.h"
#include "data/reader/row_loop.h"

namespace thalweg {
namespace {

constexpr unsigned kRegisterBits = 14;
constexpr std::size_t kRegisters = std::size_t{1} << kRegisterBits;

void add_rows(const Batch& batch, Summary& summary, DistinctKeys& distinct) {
  summary.rows += batch.rows();
  summary.entries += batch.entries();
  summary.weighted = summary.weighted || !batch.weights.empty();
  for (std::size_t r = 0; r < batch.rows(); ++r) {
    const std::uint64_t entries = batch.row_begin[r + 1] - batch.row_begin[r];
    summary.fewest_entries = std::min(summary.fewest_entries, entries);
    summary.most_entries = std::max(summary.most_entries, entries);
    summary.positives += batch.labels[r] > 0 ? 1 : 0;
    summary.smallest_label = std::min(summary.smallest_label, batch.labels[r]);
    summary.largest_label = std::max(summary.largest_label, batch.labels[r]);
  }
  for (const Key key : batch.keys) {
    distinct.add(key);
    summary.smallest_key = std::min(summary.smallest_key, key);
    summary.largest_key = std::max(summary.largest_key, key);
  }
  if (batch.values.empty() && batch.entries() > 0) {
    summary.smallest_value = std::min(summary.smallest_value, 1.0f);
    summary.largest_value = std::max(summary.largest_value, 1.0f);
  }
  for (const float value : batch.values) {
    summary.smallest_value = std::min(summary.smallest_value, value);
    summary.largest_value = std::max(summary.largest_value, value);
  }
  summary.values_not_one += static_cast<std::uint64_t>(
      std::count_if(batch.values.begin(), batch.values.end(), [](float value) { return value != 1.0f; }));
  for (const std::uint32_t field : batch.fields) {
    summary.fields = std::max(summary.fields, field == UINT32_MAX ? field : field + 1);
  }
}

}  // namespace

DistinctKeys::DistinctKeys() : slots_(2 * kExactKeys, kReservedKey) {}

void DistinctKeys::note(std::uint64_t hash) {
  const std::size_t which = hash >> (64 - kRegisterBits);
  const int zeros = std::countl_zero((hash << kRegisterBits) | (std::uint64_t{1} << (kRegisterBits - 1)));
  registers_[which] = std::max(registers_[which], static_cast<std::uint8_t>(zeros + 1));
}

void DistinctKeys::add(Key key) {
  const std::uint64_t hash = place(key);
  if (!exact()) return note(hash);
  std::size_t slot = scale_to(hash, slots_.size());
  while (slots_[slot] != kReservedKey && slots_[slot] != key) slot = (slot + 1) % slots_.size();
  if (slots_[slot] == key) return;
  slots_[slot] = key;
  if (++used_ <= kExactKeys) return;
  registers_.assign(kRegisters, 0);
  for (const Key known : slots_) {
    if (known != kReservedKey) note(place(known));
  }
  slots_ = {};
}

double DistinctKeys::count() const {
  if (exact()) return static_cast<double>(used_);
  double sum = 0;
  for (const std::uint8_t zeros : registers_) sum += std::ldexp(1.0, -zeros);
  constexpr double kCount = kRegisters;
  return 0.7213 / (1.0 + 1.079 / kCount) * kCount * kCount / sum;
}

Result<Summary> summarize(DataSet& data) {
  Result<std::unique_ptr<RowReader>> reader = data.reader(ShardId{0}, 1);
  if (!reader) return reader.status();
  Summary summary;
  DistinctKeys distinct;
  Batch batch;
  for (;;) {
    const Result<std::size_t> rows = (*reader)->next(4096, batch);
    if (!rows) return rows.status();
    if (*rows == 0) break;
    add_rows(batch, summary, distinct);
  }
  summary.distinct_keys = distinct.count();
  summary.distinct_keys_exact = distinct.exact();
  summary.bad_rows = (*reader)->rows_skipped();
  summary.bad_row_examples = data.skipped_examples();
  if (summary.rows == 0) summary.fewest_entries = 0;
  return summary;
}

namespace {

class Splitter {
 public:
  Splitter(DataSet& data, std::uint64_t modulus, std::ostream& kept, std::ostream& held_out)
      : data_(data), modulus_(modulus), kept_(kept), held_out_(held_out) {}

  Status split_text() {
    auto source = data_.block_source(0, 1, 0);
    if (!source) return source.status();
    TextBlock block;
    while (good()) {
      const Result<bool> more = (*source)->next(block);
      if (!more) return more.status();
      if (!*more) break;
      for (const char* p = block.begin; p != block.end;) {
        const char* next = line_end(p, block.end) + 1;
        if (is_row(p, data_.format().comments)) add({p, next}, true);
        p = next;
      }
    }
    return ok_status();
  }

  Status split_read_rows() {
    constexpr std::size_t kRowsAtOnce = 1024;
    auto reader = data_.reader(ShardId{0}, 1);
    if (!reader) return reader.status();
    Batch batch;
    while (good()) {
      const auto rows = (*reader)->next(kRowsAtOnce, batch);
      if (!rows) return rows.status();
      if (*rows == 0) break;
      const RowLines& lines = (*reader)->lines();
      for (std::uint32_t r = 0; r < *rows; ++r)
        add(lines.line(r), !std::binary_search(lines.bad.begin(), lines.bad.end(), r));
    }
    return ok_status();
  }

  std::uint64_t rows() const { return row_; }
  const SplitReport& report() const { return report_; }

 private:
  bool good() const { return kept_.good() && held_out_.good(); }

  void add(std::string_view line, bool good) {
    const bool held = ++row_ % modulus_ == 0;
    if (good) (held ? held_out_ : kept_).write(line.data(), static_cast<std::streamsize>(line.size()));
    ++(!good ? report_.rows_left_out : held ? report_.rows_held_out : report_.rows_kept);
  }

  DataSet& data_;
  const std::uint64_t modulus_;
  std::ostream& kept_;
  std::ostream& held_out_;
  std::uint64_t row_ = 0;
  SplitReport report_;
};

}  // namespace

Result<SplitReport> split_rows(DataSet& data, std::uint64_t modulus, std::ostream& kept,
                               std::ostream& held_out) {
  if (modulus < 2) {
    return Status(Code::kUsage,
                  fmt::format("split: saw {}, expected every N-th row with N at least 2", modulus));
  }
  kept << data.columns().header_line;
  held_out << data.columns().header_line;
  Splitter splitter(data, modulus, kept, held_out);
  const bool reads = data.options().keep_lines && data.options().answer_bad_rows;
  if (Status status = reads ? splitter.split_read_rows() : splitter.split_text(); !status.ok()) return status;
  if (!kept.flush() || !held_out.flush()) {
    return Status(Code::kIo,
                  fmt::format("split: writing failed after {} rows (is the disk full?)", splitter.rows()));
  }
  return splitter.report();
}

}  // namespace thalweg
