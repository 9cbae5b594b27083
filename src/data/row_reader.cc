#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "data/data_set.h"
#include "data/detect.h"
#include "data/row_loop.h"

namespace thalweg {

RowReader::RowReader(std::shared_ptr<DataSet> data, std::unique_ptr<BlockSource> source)
    : data_(std::move(data)),
      source_(std::move(source)),
      parser_(make_row_parser(data_->format_, data_->options_, data_->columns_)) {}

RowReader::~RowReader() = default;

Status RowReader::skip_bad_row(const RowError& error) {
  const char* end = line_end(cursor_.p, cursor_.end);
  const std::uint64_t known = data_->skipped_rows();
  std::string message;
  // Finding the line's number costs a pass over the file, so not for each of thousands of bad rows.
  if (known < 10 || known >= data_->options_.max_bad_rows) {
    message = fmt::format("{}: saw \"{}\", expected {}", data_->place(block_, error.at),
                          shown(error.at, error.end == nullptr ? end : error.end), error.expected);
  }
  ++rows_skipped_;
  cursor_.p = end + 1;
  if (!first_pass_ || data_->may_skip(message)) return {};
  if (data_->options_.max_bad_rows > 0) {
    message += fmt::format(" (bad row {}, at most {} may be skipped)", data_->skipped_rows(),
                           data_->options_.max_bad_rows);
  }
  return {Code::kData, std::move(message)};
}

// Parses until the writer has max_rows rows or the shard ends.
Status RowReader::fill(std::size_t max_rows) {
  while (writer_.rows() < max_rows && !ended_) {
    if (cursor_.p == cursor_.end) {
      const Result<bool> more = source_->next(block_);
      if (!more) return more.status();
      ended_ = !*more;
      cursor_.p = cursor_.end = nullptr;
      if (ended_) break;
      cursor_.p = block_.begin;
      cursor_.end = block_.end;
      if (block_.first_row != kUnknown) cursor_.row = block_.first_row;
    }
    RowError error;
    if (!parser_->parse(cursor_, max_rows, writer_, error)) {
      if (const Status status = skip_bad_row(error); !status) return status;
    }
  }
  return {};
}

Result<std::size_t> RowReader::next(std::size_t max_rows, Batch& out) {
  if (!failed_) return failed_;
  const bool resume = unfinished_.rows() > 0;
  if (resume) std::swap(out, unfinished_);
  unfinished_.clear();
  writer_.attach(out, parser_->with_fields(), resume);
  const Status status = fill(max_rows);
  const std::size_t rows = writer_.rows();
  writer_.detach();
  if (status) {
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
  const char* begin = cursor_.p - 1;  // Its '\n'.
  while (begin > block_.begin && begin[-1] != '\n') --begin;
  const std::string place = data_->place(block_, begin);
  return place.substr(0, place.rfind(':'));
}

Status RowReader::rewind() {
  if (const Status status = source_->rewind(); !status) return status;
  unfinished_.clear();
  cursor_ = {};
  ended_ = false;
  failed_ = {};
  first_pass_ = false;
  rows_read_ = rows_skipped_ = 0;
  return {};
}

}  // namespace thalweg
