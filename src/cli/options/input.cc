#include "cli/options/input.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace thalweg {
namespace {

constexpr std::size_t kRowsAtOnce = 1024;

}  // namespace

std::uint64_t max_bad_rows(const Options& options) {
  const std::optional<Choice> choice = options.maybe_choice("on-bad-row");
  return choice ? static_cast<std::uint64_t>(choice->number.value_or(0)) : 0;
}

ReadOptions read_options(const Options& options, std::vector<std::string> paths) {
  ReadOptions read;
  read.paths = std::move(paths);
  read.format = options.choice("format").word;
  read.max_bad_rows = max_bad_rows(options);
  read.hash_bits = static_cast<unsigned>(options.maybe_integer("hash-bits").value_or(0));
  read.columns = options.maybe_text("columns").value_or("");
  read.label_column = options.maybe_text("label-column").value_or("");
  read.weight_column = options.maybe_text("weight-column").value_or("");
  read.from_command = options.maybe_text("from-command").value_or("");
  read.command_timeout = options.duration("command-timeout");
  return read;
}

void warn_of_empty_files(const std::vector<std::string>& empty, Output& out) {
  if (const std::string text = empty_files(empty); !text.empty()) out.warn(text);
}

InputRows::InputRows(std::shared_ptr<DataSet> data, std::unique_ptr<RowReader> reader, bool ahead)
    : data_(std::move(data)), reader_(std::move(reader)), ahead_(ahead) {}

InputRows::~InputRows() {
  if (coming_.valid()) coming_.wait();
}

Result<std::unique_ptr<InputRows>> InputRows::open(ReadOptions options, std::int64_t threads) {
  Result<std::shared_ptr<DataSet>> data = DataSet::open(std::move(options));
  if (!data) return as_input(data.status());
  Result<std::unique_ptr<RowReader>> reader = (*data)->reader(ShardId{0}, 1);
  if (!reader) return as_input(reader.status());
  return std::unique_ptr<InputRows>(new InputRows(*data, *std::move(reader), threads > 1));
}

void InputRows::read_ahead() {
  coming_ = std::async(std::launch::async, [this] { return reader_->next(kRowsAtOnce, waiting_); });
}

Result<std::size_t> InputRows::next(Batch& out) {
  if (!ahead_) {
    const Result<std::size_t> rows = reader_->next(kRowsAtOnce, out);
    lines_ = reader_->lines();
    return rows ? rows : as_input(rows.status());
  }
  if (!coming_.valid()) read_ahead();
  const Result<std::size_t> rows = coming_.get();
  std::swap(out, waiting_);
  lines_ = reader_->lines();
  if (!rows) return as_input(rows.status());
  if (*rows > 0) read_ahead();
  return *rows;
}

}  // namespace thalweg
