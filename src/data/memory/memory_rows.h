// Rows that a program holds in memory, read as those of a file are: by data shards, pass after pass, with
// rows held out and bad ones told. A path of ReadOptions that ReadOptions::memory knows stands for them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "data/column/columns.h"
#include "data/read_options.h"
#include "data/reader/row_format.h"
#include "data/reader/row_loop.h"
#include "data/reader/row_parser.h"
#include "thalweg/status.h"

namespace thalweg {

// Immutable; any number of threads read at once.
class MemoryRows {
 public:
  virtual ~MemoryRows() = default;
  virtual std::uint64_t rows() const = 0;
  virtual bool has_columns() const { return false; }
  // As find_columns() of a file.
  virtual Result<Columns> columns(const std::string& /*path*/, const ReadOptions& /*options*/) const {
    return Columns();
  }
  // Of a table: at most so many rows from all over it, as sample_rows() has those of files.
  virtual std::string sample(std::uint64_t /*rows_max*/) const { return {}; }
  // Its text is an empty line a row, and Cursor::row the number of the row at Cursor::p, from 0.
  virtual std::unique_ptr<RowParser> parser(const ReadOptions& options, const Columns& columns) const = 0;
};

// What the one path of `options` names; null: a file. kUsage where it is one of several.
Result<std::shared_ptr<const MemoryRows>> find_memory_rows(const ReadOptions& options);

const RowFormat& format_of(const MemoryRows& rows);

// What all parsers of rows in memory share.
class MemoryParser : public RowParser {
 public:
  bool parse(Cursor& cursor, std::size_t max_rows, BatchWriter& out, RowError& error) final;

 protected:
  explicit MemoryParser(const ReadOptions& options) : rules_(options) {}
  // Adds the row's entries and ends it; false: `error` says what is wrong.
  virtual bool take_row(std::uint64_t row, BatchWriter& out, RowError& error) = 0;
  // As parse_label() has it.
  bool check_label(float& label, RowError& error) const;

  const RowRules rules_;
};

// For the value `saw`.
bool fail_saw(RowError& error, std::string saw, std::string expected);

}  // namespace thalweg
