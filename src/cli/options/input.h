// Options about input as the data layer wants them, and rows read ahead.
#pragma once

#include <cstddef>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "cli/options/options.h"
#include "cli/view/output.h"
#include "data/data_set.h"
#include "data/input_words.h"
#include "thalweg/batch.h"
#include "thalweg/status.h"

namespace thalweg {

// As --on-bad-row says; none where it is unset.
std::uint64_t max_bad_rows(const Options& options);
ReadOptions read_options(const Options& options, std::vector<std::string> paths);

// That files were passed over since they are empty.
void warn_of_empty_files(const std::vector<std::string>& empty, Output& out);
// The rows of a data set in input order, the next batch being parsed while one is worked on. One thread.
class InputRows {
 public:
  // threads 1: nothing is read ahead.
  static Result<std::unique_ptr<InputRows>> open(ReadOptions options, std::int64_t threads);
  ~InputRows();

  const DataSet& data() const { return *data_; }
  // Number of rows, 0 at the end. `out` is forgotten.
  Result<std::size_t> next(Batch& out);
  const RowLines& lines() const { return lines_; }  // Of those rows.

 private:
  InputRows(std::shared_ptr<DataSet> data, std::unique_ptr<RowReader> reader, bool ahead);
  void read_ahead();

  std::shared_ptr<DataSet> data_;
  std::unique_ptr<RowReader> reader_;
  bool ahead_;
  RowLines lines_;
  Batch waiting_;
  std::future<Result<std::size_t>> coming_;
};

}  // namespace thalweg
