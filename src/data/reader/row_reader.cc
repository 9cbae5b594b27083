#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/mix.h"
#include "data/data_set.h"
#include "data/pair/pairing_parser.h"
#include "data/reader/bounded_parser.h"
#include "data/reader/detect.h"
#include "data/reader/row_loop.h"

namespace thalweg {

RowReader::RowReader(std::shared_ptr<DataSet> data, std::unique_ptr<BlockSource> source)
    : data_(std::move(data)),
      source_(std::move(source)),
      parser_(row_parser(data_->options_, *data_->format_, data_->columns_)) {
  if (const RowBounds& bounds = data_->options_.bounds; bounds.any())
    parser_ = bounded_parser(std::move(parser_), bounds);
}

RowReader::~RowReader() = default;

Status RowReader::skip_bad_row(const RowError& error) {
  const char* const begin = cursor_.p;
  const char* end = line_end(cursor_.p, cursor_.end);
  const std::uint64_t known = counts_apart_ ? rows_skipped_ : data_->skipped_rows();
  const bool counted = ++rows_skipped_ <= skips_counted_;
  std::string message;
  // Finding the line's number costs a pass over the file, so not for each of thousands of bad rows.
  if (!counted && (known < 10 || known >= data_->options_.max_bad_rows)) {
    message =
        fmt::format("{}: saw \"{}\", expected {}", data_->place(block_, error.at),
                    error.saw.empty() ? shown(error.at, error.end == nullptr ? end : error.end) : error.saw,
                    error.expected);
  }
  ++pass_rows_[block_.file].skipped;
  cursor_.p = end + 1;
  if (counted) return {};
  skips_counted_ = rows_skipped_;
  if (counts_apart_ ? rows_skipped_ <= data_->options_.max_bad_rows : data_->may_skip(message)) {
    if (data_->options_.answer_bad_rows) answer_bad_row({begin, end + 1});
    return {};
  }
  if (data_->options_.max_bad_rows > 0) {
    message +=
        fmt::format(" (bad row {}, at most {} may be skipped)",
                    counts_apart_ ? rows_skipped_ : data_->skipped_rows(), data_->options_.max_bad_rows);
  }
  return {Code::kData, std::move(message)};
}

void RowReader::answer_bad_row(std::string_view line) {
  lines_.bad.push_back(static_cast<std::uint32_t>(writer_.rows()));
  if (data_->options_.keep_lines) lines_.add(line);
  writer_.end_row(0.0f, 1.0f);
}

// The newest that was parsed.
std::string_view RowReader::last_line() const {
  const char* begin = cursor_.p - 1;  // Its '\n'.
  while (begin > block_.begin && begin[-1] != '\n') --begin;
  return {begin, static_cast<std::size_t>(cursor_.p - begin)};
}

// False at the shard's end.
Result<bool> RowReader::next_block() {
  const Result<bool> more = source_->next(block_);
  if (!more) return more;
  ended_ = !*more;
  cursor_.p = cursor_.end = nullptr;
  if (ended_) {
    if (const Status status = check_pass(); !status.ok()) return status;
    return false;
  }
  cursor_.p = block_.begin;
  cursor_.end = block_.end;
  if (block_.first_row != kUnknown) cursor_.row = block_.first_row;
  if (data_->options_.hash_text) text_hash_ = place(text_hash_ ^ block_.hash);
  text_file_ = block_.file;
  text_bytes_ = block_.offset + static_cast<std::uint64_t>(block_.end - block_.begin);
  if (pass_rows_.size() <= block_.file) pass_rows_.resize(block_.file + std::size_t{1});
  return true;
}

Status RowReader::parse_block(std::size_t max_rows) {
  RowError error;
  const std::size_t before = writer_.rows();
  const bool keeps = data_->options_.keep_lines;  // Then rows are parsed one by one.
  const bool good = parser_->parse(cursor_, keeps ? before + 1 : max_rows, writer_, error);
  if (keeps && writer_.rows() > before) lines_.add(last_line());
  pass_rows_[block_.file].rows += writer_.rows() - before;
  return good ? Status() : skip_bad_row(error);
}

// Parses until the writer has max_rows rows or the shard ends.
Status RowReader::fill(std::size_t max_rows) {
  while (writer_.rows() < max_rows && !ended_) {
    if (cursor_.p == cursor_.end) {
      if (data_->options_.as_it_comes && !data_->seekable_ && writer_.rows() > 0) break;
      const Result<bool> more = next_block();
      if (!more) return more.status();
      if (!*more) break;
    }
    if (const Status status = parse_block(max_rows); !status.ok()) return status;
  }
  return {};
}

// Whether this pass, which has ended, found as many rows as the one before.
Status RowReader::check_pass() const {
  if (!earlier_) return {};
  for (std::size_t file = 0; file < std::max(earlier_->size(), pass_rows_.size()); ++file) {
    const auto of = [file](const PassRows& pass) { return file < pass.size() ? pass[file] : FileRows{}; };
    const FileRows before = of(*earlier_), now = of(pass_rows_);
    if (before == now) continue;
    return {
        Code::kData,
        fmt::format("{}: changed while it was used: {} rows and {} bad ones of a data shard, expected {} and "
                    "{} as in the pass before; leave files alone until the job has ended, and run it again",
                    data_->paths_[file], now.rows, now.skipped, before.rows, before.skipped)};
  }
  return {};
}

void RowReader::expect(PassRows earlier) {
  skips_counted_ = 0;
  for (const FileRows& file : earlier) skips_counted_ += file.skipped;
  earlier_ = std::move(earlier);
}

std::string RowReader::text_end() const {
  return fmt::format("{}, byte {}", data_->paths_[text_file_], text_bytes_);
}

Result<std::size_t> RowReader::next(std::size_t max_rows, Batch& out) {
  if (!failed_.ok()) return failed_;
  const bool resume = unfinished_.rows() > 0;
  if (resume) {
    std::swap(out, unfinished_);
  } else {
    lines_.clear();
  }
  unfinished_.clear();
  writer_.attach(out, parser_->with_fields(), resume);
  const Status status = fill(max_rows);
  const std::size_t rows = writer_.rows();
  writer_.detach();
  if (status.ok()) {
    rows_read_ += rows;
    return rows;
  }
  if (status.code() == Code::kRetry) {
    std::swap(out, unfinished_);
  } else {
    failed_ = status;
  }
  out.clear();
  return status;
}

std::string RowReader::place_of_last_row() const {
  const std::string place = data_->place(block_, last_line().data());
  return place.substr(0, place.rfind(':'));
}

Status RowReader::rewind() {
  if (const Status status = source_->rewind(); !status.ok()) return status;
  if (ended_ && failed_.ok()) expect(pass_rows_);
  unfinished_.clear();
  cursor_ = {};
  ended_ = false;
  failed_ = {};
  rows_read_ = rows_skipped_ = text_hash_ = 0;
  pass_rows_.clear();
  return {};
}

}  // namespace thalweg
